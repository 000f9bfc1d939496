import { guide, specification } from '../fact.ts'
import { type Entry, operation } from './operation.ts'

/** The operations of tasks and segments. Both documents name them, but without paths and fields. */
export function unnamed<const Plural extends 'tasks' | 'segments'>(plural: Plural, noun: 'Task' | 'Segment') {
  const model = plural === 'tasks' ? 'task' : 'segment'
  const sources = [specification('section 1'), guide('Scopes')]
  const [all, one] = [`/${plural}`, `/${plural}/{id}`] as const
  return {
    [`${plural}.list`]: operation('inferred', sources, {
      operationId: `list${noun}s`,
      title: `List ${plural}`,
      request: `GET ${all}`,
      envelope: 'list',
      response: model,
    }),
    [`${plural}.get`]: operation('inferred', sources, {
      operationId: `get${noun}`,
      title: `Get ${model}`,
      request: `GET ${one}`,
      response: model,
    }),
    [`${plural}.create`]: operation('inferred', sources, {
      operationId: `create${noun}`,
      title: `Create ${model}`,
      request: `POST ${all}`,
      body: `create${noun}Body`,
      response: model,
    }),
    [`${plural}.update`]: operation('inferred', sources, {
      operationId: `update${noun}`,
      title: `Update ${model}`,
      request: `PATCH ${one}`,
      body: `update${noun}Body`,
      response: model,
    }),
    [`${plural}.delete`]: operation('inferred', sources, {
      operationId: `delete${noun}`,
      title: `Delete ${model}`,
      request: `DELETE ${one}`,
    }),
  } as Record<`${Plural}.${'list' | 'get' | 'create' | 'update' | 'delete'}`, Entry>
}
