import { frozen } from './fact.ts'
import { ofResources } from './topics/resources.ts'
import { ofService } from './topics/service.ts'
import type { Topic } from './topics/topic.ts'

/**
 * Facts about paging, errors, tokens and other subjects besides operations and fields, as frozen plain data. Each topic
 * also lists its open questions.
 */
export const topics: readonly Topic[] = /* @__PURE__ */ frozen([...ofService, ...ofResources])
