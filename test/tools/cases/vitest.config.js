export default { test: { globals: true, include: ['suite.test.js'] } };
