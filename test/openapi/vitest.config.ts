import base from '../../vitest.config.ts'

export default { ...base, test: { ...base.test, include: ['test/openapi/*.test.ts'], exclude: [] } }
