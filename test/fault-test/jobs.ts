import { setTimeout as wait } from 'node:timers/promises'
import { type Checkpoint, isSupportWorkspaceError, SupportWorkspaceError } from 'support-workspace-sdk'
import { expect } from 'vitest'
import { type FaultTestJob, faultTest, type JudgementName } from '../../src/fault-test/index.ts'

/** A job with a planted bug, and the same job mended. */
export interface PlantedJob {
  readonly title: string
  readonly bug: FaultTestJob
  readonly mended: FaultTestJob
  /** The run that a report names first. */
  readonly run: string
  /** What a fault test says about the bug. */
  readonly judgement: JudgementName
}

export async function expectFoundAndMended(job: PlantedJob): Promise<void> {
  const { failures } = await faultTest(job.bug, { unseen: 'allowed' })
  expect(failures.map(({ id, judgements }) => [id, judgements[0]?.name])).toEqual([[job.run, job.judgement]])
  const report = await faultTest(job.mended, { unseen: 'allowed' })
  report.assert()
}

const body_html = '<p>On it.</p>'

async function firstConversation(workspace: Parameters<FaultTestJob>[0]['workspace']): Promise<string> {
  const [first] = (await workspace.conversations.list({ limit: 1 })).data
  return first?.id ?? ''
}

/** Ends as `verify`, as the error of a write whose result is unknown does. */
function toVerify(message: string): SupportWorkspaceError {
  return new SupportWorkspaceError(message, { hint: 'Look at the conversation.', remedy: 'verify' })
}

/** A job that adds a note, up to three times. */
function noteRepeatedAfter(mayRepeat: (error: unknown) => boolean): FaultTestJob {
  return async ({ workspace, state }) => {
    const id = await firstConversation(workspace)
    if (state.begun) throw toVerify('The note may have been added.')
    state.begun = true
    for (let tries = 1; ; tries += 1) {
      try {
        await workspace.notes.create(id, { body_html })
        return
      } catch (error) {
        if (tries === 3 || !mayRepeat(error)) throw toVerify(String(error))
      }
      await wait(1_000)
    }
  }
}

export const plantedJobs: readonly PlantedJob[] = [
  {
    title: 'repeats everything after a kill',
    run: 'killed-after-effect@2',
    judgement: 'doubled',
    async bug({ workspace }) {
      const id = await firstConversation(workspace)
      await workspace.messages.create(id, { body_html })
      await workspace.notes.create(id, { body_html })
    },
    async mended({ workspace, state }) {
      const id = await firstConversation(workspace)
      for (const list of ['messages', 'notes'] as const) {
        if (state[list] === 'done') continue
        if (state[list] === 'sending') throw toVerify(`A write to ${list} may have been applied.`)
        state[list] = 'sending'
        try {
          if (list === 'messages') await workspace.messages.create(id, { body_html })
          else await workspace.notes.create(id, { body_html })
        } catch (error) {
          if (isSupportWorkspaceError(error) && error.remedy !== 'verify') delete state[list]
          throw error
        }
        state[list] = 'done'
      }
    },
  },
  {
    title: 'saves its checkpoint apart from the page',
    run: 'killed-before-assignment@2',
    judgement: 'doubled',
    async bug({ workspace, state }) {
      const resumeFrom = (state.checkpoint as Checkpoint | undefined) ?? null
      for await (const page of workspace.conversations.list({ limit: 4 }, { resumeFrom }).pages()) {
        state.ids = [...((state.ids as string[] | undefined) ?? []), ...page.data.map(({ id }) => id)]
        state.checkpoint = page.checkpoint
      }
    },
    async mended({ workspace, state }) {
      const saved = (state.saved ?? {}) as { checkpoint?: Checkpoint; ids?: string[] }
      let ids = saved.ids ?? []
      const resumeFrom = saved.checkpoint ?? null
      for await (const page of workspace.conversations.list({ limit: 4 }, { resumeFrom }).pages()) {
        ids = [...ids, ...page.data.map(({ id }) => id)]
        state.saved = { checkpoint: page.checkpoint, ids }
      }
    },
  },
  {
    title: 'repeats a write whose result is unknown',
    run: 'reset-after-effect@2',
    judgement: 'doubled',
    bug: noteRepeatedAfter(() => true),
    mended: noteRepeatedAfter((error) => isSupportWorkspaceError(error) && error.remedy === 'retry'),
  },
  {
    title: 'loses the last page',
    run: 'unavailable-from-here@3',
    judgement: 'lost',
    async bug({ workspace, state }) {
      let after: string | undefined
      const ids: string[] = []
      do {
        const page = await workspace.conversations
          .list({ limit: 4, ...(after !== undefined && { after }) })
          .catch((error) => {
            if (ids.length < 8) throw error
          })
        ids.push(...(page?.data.map(({ id }) => id) ?? []))
        after = page?.after ?? undefined
      } while (after !== undefined)
      state.ids = ids
    },
    async mended({ workspace, state }) {
      const list = await workspace.conversations.list({ limit: 4 }).toArray()
      state.ids = list.map(({ id }) => id)
    },
  },
]
