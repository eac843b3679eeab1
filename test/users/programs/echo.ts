/** Sends back what it is sent, as it comes to another process. */
process.on('message', (message) => process.send?.(message));
