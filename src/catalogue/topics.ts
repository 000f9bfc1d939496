import { frozen } from './fact.ts'
import { ofResources } from './topics/resources.ts'
import { ofService } from './topics/service.ts'
import type { Topic } from './topics/topic.ts'

/**
 * The facts beyond operations and fields, for example about paging, errors and tokens, and the open questions. Frozen
 * plain data.
 */
export const topics: readonly Topic[] = /* @__PURE__ */ frozen([...ofService, ...ofResources])
