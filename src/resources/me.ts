import { meSchema } from '../models/me.ts'
import type { Operation } from '../operation.ts'

export const meOperation = {
  id: 'me',
  method: 'GET',
  path: '/api/oauth/v1/me',
  evidence: 'specification',
  envelope: 'bare',
  response: meSchema,
} as const satisfies Operation
