import { bytes } from './bytes.ts'
import { firstResponse } from './first-response.ts'
import { heap } from './heap.ts'
import { paging, slowPaging } from './paging.ts'
import { createCall, growth, listCall } from './single-call.ts'
import type { Suite } from './suite.ts'

export const suites = {
  a: listCall,
  b: paging,
  c: slowPaging,
  d: createCall,
  e: firstResponse,
  f: heap,
  g: bytes,
  h: growth,
} as const satisfies Record<string, Suite>
