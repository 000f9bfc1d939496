import * as z from 'zod'
import { openApiDocument } from '../../scripts/openapi.ts'

/** Returns the schema that openapi.json has for the response of an operation. Undefined if the response has no body. */
export function responseSchema(id: string): z.ZodType | undefined {
  // Zod reads the schemas of other places only from `$defs`.
  const text = JSON.stringify(openApiDocument()).replaceAll('#/components/schemas/', '#/$defs/')
  // biome-ignore lint/suspicious/noExplicitAny: a document of this project, whose parts are named here
  const { paths, components } = JSON.parse(text) as any
  // biome-ignore lint/suspicious/noExplicitAny: the same
  const all: any[] = Object.values(paths).flatMap((methods) => Object.values(methods as object))
  const { responses } = all.find((operation) => operation['x-sdk-call'] === id)
  const [status = ''] = Object.keys(responses)
  const schema = responses[status].content?.['application/json'].schema
  // Zod has no `not`, which only says that the response is not wrapped.
  return schema && z.fromJSONSchema({ ...schema, not: undefined, $defs: components.schemas })
}
