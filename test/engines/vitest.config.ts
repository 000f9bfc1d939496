import base from '../../vitest.config.ts'

export default { ...base, test: { ...base.test, include: ['test/engines/*.test.ts'], exclude: [] } }
