import { frozen } from './fact.ts'
import { ofResources } from './topics/resources.ts'
import { ofService } from './topics/service.ts'
import type { Topic } from './topics/topic.ts'

/**
 * What is known beyond operations and fields: paging, errors, tokens and so on, with what no source tells. Frozen plain
 * data.
 */
export const topics: readonly Topic[] = /* @__PURE__ */ frozen([...ofService, ...ofResources])
