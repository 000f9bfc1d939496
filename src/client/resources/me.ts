import type { Operation } from '../../core/index.ts'
import { lazySchema } from '../lazy-schemas.ts'

export const meOperation = {
  id: 'me',
  method: 'GET',
  path: '/api/oauth/v1/me',
  evidence: 'specification',
  envelope: 'bare',
  response: lazySchema('me'),
} as const satisfies Operation
