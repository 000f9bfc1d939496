import type {
  BadRequestError,
  Checkpoint,
  CursorRejectedError,
  ListOptions,
  Page,
  SupportWorkspace,
} from 'support-workspace-sdk'
import type { Equal, Expect } from './assert.ts'

declare const workspace: SupportWorkspace
declare const page: Page<unknown>
declare const error: CursorRejectedError

export type CheckpointTests = [
  Expect<Equal<Checkpoint, { readonly cursor: string | null; readonly done: boolean }>>,
  Expect<Equal<Page<unknown>['checkpoint'], Checkpoint>>,
  Expect<Equal<ListOptions['resumeFrom'], Checkpoint | null | undefined>>,
]

export const accepted = [
  () => workspace.contacts.list({}, { resumeFrom: page.checkpoint }),
  () => workspace.contacts.list({}, { resumeFrom: null }),
  () => workspace.contacts.list({}, { resumeFrom: JSON.parse('null') }),
  (): BadRequestError => error,
]

export const rejected = [
  // @ts-expect-error: a checkpoint says whether the list is finished
  () => workspace.contacts.list({}, { resumeFrom: { cursor: null } }),
  // @ts-expect-error: a cursor is not a checkpoint
  () => workspace.contacts.list({}, { resumeFrom: page.after }),
  // @ts-expect-error: a page is not a checkpoint
  () => workspace.contacts.list({}, { resumeFrom: page }),
  // @ts-expect-error: only a list has checkpoints
  () => workspace.contacts.get('k', { resumeFrom: null }),
]
