import { operations, type TraitName } from '../api/index.ts'
import type { JsonObject } from '../shared/json.ts'
import type { Answer } from './asker.ts'
import type { Questions } from './questions.ts'

/** Answers for a path and an id that do not exist, to compare other answers with. */
export interface Controls {
  readonly path: Answer
  /** For an id that does not exist, at a documented path. */
  readonly id: Answer
}

/** The traits of inferred paths, each of which is the name of an operation with `.path`. */
type PathTrait = Extract<TraitName, `${string}.path`>
type OperationOf<Trait> = Trait extends `${infer Id}.path` ? Id : never
type PathId = OperationOf<PathTrait>

/** A path and an id that surely do not exist. */
export const noSuchPath = '/probe_no_such_path'
export const noSuchId = 'probe-no-such-id'

/** Asks whether an inferred path without a last id exists. Returns its entries. */
export async function askPath(
  questions: Questions,
  id: PathId,
  path: string,
  controls: Controls,
): Promise<readonly JsonObject[]> {
  const answer = await questions.ask(id, path)
  const { envelope, scope } = operations[id]
  const hasForm = envelope === 'list' ? answer.items !== undefined : answer.item !== undefined
  if (answer.status === 200 && hasForm && controls.path.status === 404) questions.find(`${id}.path`, 'exists')
  else noteRefusal(questions, id, answer, controls, `It takes a token that can read it (${scope}).`)
  return answer.items ?? []
}

/** Asks whether an inferred path exists that ends with an id, which a list has returned. */
export async function askPathOfId(
  questions: Questions,
  id: PathId,
  list: string,
  item: JsonObject | undefined,
  controls: Controls,
): Promise<void> {
  if (typeof item?.id !== 'string' || item.id === '') {
    questions.leave(`${id}.path`, 'It takes a list with an entry that has an id.')
    return
  }
  const answer = await questions.ask(id, `${list}/${encodeURIComponent(item.id)}`)
  if (answer.status !== 200) {
    noteRefusal(questions, id, answer, controls, 'It takes a token that can read it, or the path takes another id.')
    return
  }
  const control = await questions.asker.get(`${list}/${noSuchId}`)
  if (answer.item?.id === item.id && control.status === 404) questions.find(`${id}.path`, 'exists')
  else questions.leave(`${id}.path`, 'It takes a service that refuses an id that does not exist.')
}

function noteRefusal(
  { find, leave }: Questions,
  id: PathId,
  answer: Answer,
  { path, id: ofId }: Controls,
  reason: string,
) {
  const isUnknown = path.status === 404 && answer.status === 404 && isSame(answer, path)
  if (isUnknown && !isSame(path, ofId)) find(`${id}.path`, 'not found')
  else if (isUnknown) leave(`${id}.path`, 'It takes a service whose 404 for a path differs from its 404 for an id.')
  else if (answer.status === 405 && path.status === 404) find(`${id}.path`, 'another method')
  else leave(`${id}.path`, reason)
}

/** Returns whether two error responses are alike. Compares their texts, which are not reported. */
function isSame(one: Answer, other: Answer): boolean {
  return one.status === other.status && JSON.stringify(one.body) === JSON.stringify(other.body)
}

/** Describes an error response by its status and the documented keys of its body. */
export function shapeOf({ status, body }: Answer): string {
  if (body === undefined) return `${status} without a JSON object`
  const keys = ['error', 'error_description'].filter((key) => typeof body[key] === 'string')
  return `${status} with ${keys.length === 0 ? 'other JSON' : keys.join(', ')}`
}
