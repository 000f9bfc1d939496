import { lazySchema } from '../lazy-schemas.ts'

import type { Operation } from '../operation.ts'

export const meOperation = {
  id: 'me',
  method: 'GET',
  path: '/api/oauth/v1/me',
  evidence: 'specification',
  envelope: 'bare',
  response: lazySchema('me'),
} as const satisfies Operation
