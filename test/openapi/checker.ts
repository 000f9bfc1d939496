import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

export interface Exchange {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  /** The JSON body of the request, or undefined. */
  readonly sent: unknown
  readonly status: number
  /** The JSON body of the response, or undefined if it has none. */
  readonly received: unknown
}

interface Content {
  readonly content?: { readonly 'application/json': { readonly schema: object } }
  readonly $ref?: string
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: { readonly type: string }
}

interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}

/** Returns a function that lists where an exchange differs from an OpenAPI document. */
export function checkerOf(document: object): (exchange: Exchange) => string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema({ ...document, $id: 'document' })
  const { paths } = document as { paths: Record<string, Record<string, Operation>> }
  const { components } = document as { components: { responses: Record<string, Content> } }

  return ({ method, path, query, sent, status, received }) => {
    const template = Object.keys(paths).find((each) => matches(each, path))
    const operation = paths[template ?? '']?.[method.toLowerCase()]
    if (operation === undefined) return [`${method} ${path} is not in the document`]
    const named = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
    const parameters = [...query].flatMap(([name, value]) => {
      const parameter = named.find((each) => each.name === name)
      if (parameter === undefined) return [`the query parameter ${name} is not in the document`]
      return problems(parameter.schema, parameter.schema.type === 'integer' ? Number(value) : value, name)
    })
    return [...parameters, ...bodyProblems(operation.requestBody, sent, 'request'), ...responseProblems()]

    function responseProblems(): string[] {
      const { responses } = operation as Operation
      const response = responses[status] ?? responses[`${String(status)[0]}XX`]
      if (response === undefined) return [`the status ${status} is not in the document`]
      const name = response.$ref?.split('/').at(-1) ?? ''
      return bodyProblems(response.$ref ? components.responses[name] : response, received, 'response')
    }
  }

  function bodyProblems(described: Content | undefined, body: unknown, what: string): string[] {
    const schema = described?.content?.['application/json'].schema
    if (schema === undefined) return body === undefined ? [] : [`the ${what} has a body`]
    return body === undefined ? [`the ${what} has no body`] : problems(schema, body, what)
  }

  function problems(schema: object, value: unknown, what: string): string[] {
    const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')))
    if (validate(value)) return []
    // A mismatch below `anyOf` is reported for each branch, and once for the whole.
    const [first] = validate.errors ?? []
    return [`${what}${first?.instancePath} ${first?.message}`]
  }
}

function matches(template: string, path: string): boolean {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
}
