import { globSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { operations } from '../../src/api/index.ts'
import { root } from '../docs/page.ts'

/** Each class of the client. */
const declarations = globSync('src/client/resources/*.ts', { cwd: root }).flatMap((path) => {
  const source = ts.createSourceFile(path, readFileSync(root + path, 'utf8'), ts.ScriptTarget.Latest, true)
  return source.statements.filter(ts.isClassDeclaration)
})

/** Returns the text of the comment before a declaration, on one line. */
function textOf(node: ts.Node): string {
  const [comment] = ts.getJSDocCommentsAndTags(node)
  const text = comment?.getText() ?? ''
  return text
    .replaceAll(/^\/\*\*|\*\/$|^\s*\*/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

const resources: Readonly<Record<string, string>> = { OrganizationResource: 'organization' }
const methods = declarations.flatMap((node) => {
  const resource = resources[node.name!.text] ?? node.name!.text.toLowerCase()
  // The overload for callers comes first.
  return node.members
    .filter(ts.isMethodDeclaration)
    .filter((method) => ts.getJSDocCommentsAndTags(method).length > 0)
    .map((method) => [`${resource}.${method.name.getText()}`, textOf(method)] as const)
    .filter(([id]) => Object.hasOwn(operations, id))
})

test('every operation has a method with a comment', () => {
  expect(['me', ...methods.map(([id]) => id)].sort()).toEqual(Object.keys(operations).sort())
})

test.each(methods)('the comment of %s has scope, actor and evidence of src/api', (id, comment) => {
  const { scope, actor, evidence } = operations[id as keyof typeof operations]
  expect(comment).toContain(`Scope \`${scope}\``)
  expect(comment.includes('`actor=self` only')).toBe(actor === 'self')
  expect(comment.includes('@experimental Inferred')).toBe(evidence === 'inferred')
  const [, linked] = /\[(specification|reference|what is known)\]/.exec(comment) ?? []
  expect(linked).toBe(evidence === 'inferred' ? 'what is known' : evidence)
})
