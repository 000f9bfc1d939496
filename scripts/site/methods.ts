// What the site says about the method of an operation: its request, scope and actor, and an example.
import { inspect } from 'node:util'
import {
  Comment,
  type CommentDisplayPart,
  CommentTag,
  type DeclarationReflection,
  type ProjectReflection,
  type Reflection,
  ReflectionKind,
} from 'typedoc'
import { type BuiltInOperation, operations } from '../../src/client/resources/built-in-operations.ts'
import { calls } from '../../test/client/operations/calls.ts'
import { argumentsOf } from '../service-pages.ts'

/** Returns the id of the operation that a method of the client or of a resource calls. */
export function operationIdOf(reflection: Reflection): string | undefined {
  if (!reflection.kindOf(ReflectionKind.Method)) return undefined
  const owner = reflection.parent?.name.replace('OrganizationResource', 'organization')
  const id = owner === 'SupportWorkspace' ? reflection.name : `${owner?.toLowerCase()}.${reflection.name}`
  return operations.some((operation) => operation.id === id) ? id : undefined
}

/** Describes the method of each operation, and hides the `this` parameters, which are for the compiler. */
export function describeMethods(project: ProjectReflection): void {
  const described = new Set<string>()
  for (const method of project.getReflectionsByKind(ReflectionKind.Method) as DeclarationReflection[]) {
    for (const signature of method.signatures ?? []) {
      signature.parameters &&= signature.parameters.filter(({ name }) => name !== 'this')
      const operation = operations.find(({ id }) => id === operationIdOf(method))
      if (operation === undefined) continue
      signature.comment ??= new Comment()
      describe(signature.comment, operation)
      described.add(operation.id)
    }
  }
  const missing = operations.filter(({ id }) => !described.has(id))
  if (missing.length > 0) throw new Error(`No method was found for ${missing.map(({ id }) => id).join(', ')}.`)
}

/** Replaces what the comment says about scope, actor and evidence with a table, and adds the example. */
function describe(comment: Comment, operation: BuiltInOperation): void {
  const { method, path, scope, actor = 'any', evidence } = operation
  const start = comment.summary.findIndex(({ text }) => / Scope $/.test(text))
  const facts = start < 0 ? [] : comment.summary.splice(start + 1)
  const last = comment.summary[start]
  if (last !== undefined) last.text = last.text.replace(/ Scope $/, '')
  const source = facts.find((part) => part.kind === 'relative-link')
  comment.summary.push(
    text('\n\n| Request | Scope | Actor | Evidence |\n| --- | --- | --- | --- |\n| '),
    code(`${method} ${path}`),
    text(' | '),
    ...(scope === undefined ? [text('none')] : [code(scope)]),
    text(' | '),
    ...(actor === 'any' ? [text(actor)] : [code(actor)]),
    ...(source === undefined
      ? [text(` | ${evidence} |`)]
      : [text(' | ['), text(evidence), text(']('), source, text(') |')]),
    ...conditionIn(facts),
  )
  if (comment.getTag('@example') === undefined) {
    comment.blockTags.push(new CommentTag('@example', [code(`\`\`ts\n${exampleOf(operation)}\n\`\``)]))
  }
}

/** Returns what the role of the user must be, if the comment says so. */
function conditionIn(facts: readonly CommentDisplayPart[]): CommentDisplayPart[] {
  const [, condition] = /, and (the user must [\s\S]+?)\./.exec(facts.map((part) => part.text).join('')) ?? []
  return condition === undefined ? [] : [text(`\n\nT${condition.slice(1)}.`)]
}

/** Returns a call of an operation, whose body is that of the tests. */
export function exampleOf(operation: BuiltInOperation): string {
  const body = inspect(calls[operation.id].body, { breakLength: 80 })
  const given = argumentsOf(operation).map((name) => (name === 'body' ? body : name))
  if (operation.envelope === 'list') {
    const list = `workspace.${operation.id}(${[...given, '{ limit: 50 }'].join(', ')})`
    return `for await (const item of ${list}) {\n  console.log(item.id)\n}`
  }
  const call = `await workspace.${operation.id}(${given.join(', ')})`
  return operation.envelope === 'none' ? call : `const data = ${call}`
}

function text(value: string): CommentDisplayPart {
  return { kind: 'text', text: value }
}

function code(value: string): CommentDisplayPart {
  return { kind: 'code', text: `\`${value}\`` }
}
