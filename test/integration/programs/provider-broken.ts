/** A module that cannot be loaded. */
throw new Error('this module never loads');
