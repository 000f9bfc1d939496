import type { BuiltInOperation } from '../../src/resources/operations.ts'
import { operations } from '../../src/resources/operations.ts'
import type { Declarations, Doc, Method } from './declarations.ts'

/** A built-in operation and its method. */
export interface DocumentedOperation {
  readonly operation: BuiltInOperation
  readonly method: Method
  /** The call in code, for example `workspace.messages.create`. */
  readonly call: string
}

/** A resource of the client, with its operations in the order of its methods. */
export interface DocumentedResource {
  /** Name of its property on the client. */
  readonly name: string
  readonly doc: Doc
  readonly operations: readonly DocumentedOperation[]
}

/** Class name of each resource, by the name of its property on the client. */
const classes: Readonly<Record<string, string>> = {
  conversations: 'Conversations',
  messages: 'Messages',
  notes: 'Notes',
  contacts: 'Contacts',
  members: 'Members',
  organization: 'OrganizationResource',
  tasks: 'Tasks',
  segments: 'Segments',
}

export function readMe(declarations: Declarations): DocumentedOperation {
  const { methods } = declarations.methodsOf('src/client.ts', 'SupportWorkspace')
  return document('me', methods, 'workspace.me')
}

export function readResources(declarations: Declarations): DocumentedResource[] {
  return Object.entries(classes).map(([name, className]) => {
    const { doc, methods } = declarations.methodsOf(`src/resources/${name}.ts`, className)
    const documented = methods.map((method) =>
      document(`${name}.${method.name}`, methods, `workspace.${name}.${method.name}`),
    )
    return { name, doc, operations: documented }
  })
}

function document(id: string, methods: readonly Method[], call: string): DocumentedOperation {
  const operation = operations.find((candidate) => candidate.id === id)
  const method = methods.find(({ name }) => name === id.split('.').at(-1))
  if (operation === undefined || method === undefined) throw new Error(`${id} lacks an operation or a method.`)
  return { operation, method, call }
}
