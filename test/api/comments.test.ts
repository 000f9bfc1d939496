import { globSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { models, operations } from '../../src/api/index.ts'
import { root } from '../docs/page.ts'
import { commentOf } from './comments.ts'

/** Each interface and class of the client, by its name. */
const declarations = globSync('src/client/{models,resources}/*.ts', { cwd: root }).flatMap((path) => {
  const source = ts.createSourceFile(path, readFileSync(root + path, 'utf8'), ts.ScriptTarget.Latest, true)
  return source.statements.filter((node) => ts.isInterfaceDeclaration(node) || ts.isClassDeclaration(node))
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

const byTitle = new Map(Object.values(models).map((model) => [model.title, model]))
const interfaces = declarations.filter(ts.isInterfaceDeclaration).filter(({ name }) => byTitle.has(name.text))

test('the client has an interface for each model that it sends or receives', () => {
  const names = interfaces.map(({ name }) => name.text)
  const isOwn = (title: string) =>
    !/^(PageMetadata|ErrorBody|Consent|Token|Authorize|Eligible)|^(Create|Update)(Task|Segment)/.test(title)
  expect(names.sort()).toEqual([...byTitle.keys()].filter(isOwn).sort())
})

describe.each(interfaces.map((node) => [node.name.text, node] as const))('the interface %s', (title, node) => {
  test('has the fields of the catalogue, and their meaning with what is inferred as comments', () => {
    const { fields } = byTitle.get(title)!
    const members = node.members.filter(ts.isPropertySignature)
    const comments = members.map((member) => [member.name.getText(), textOf(member)])
    expect(comments).toEqual(Object.entries(fields).map(([name, field]) => [name, commentOf(field)]))
  })

  test('says for a body without a documented field that its fields are inferred', () => {
    const all = Object.values(byTitle.get(title)!.fields)
    const isGuess = all.length > 0 && all.every((field) => field.evidence === 'inferred')
    if (isGuess && title.endsWith('Body')) expect(textOf(node)).toMatch(/Its fields? (is|are) inferred/)
  })
})

const resources: Readonly<Record<string, string>> = { OrganizationResource: 'organization' }
const methods = declarations.filter(ts.isClassDeclaration).flatMap((node) => {
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

test.each(methods)('the comment of %s has scope, actor and evidence of the catalogue', (id, comment) => {
  const { scope, actor, evidence } = operations[id as keyof typeof operations]
  expect(comment).toContain(`Scope \`${scope}\``)
  expect(comment.includes('`actor=self` only')).toBe(actor === 'self')
  expect(comment.includes('@experimental Inferred')).toBe(evidence === 'inferred')
  const [, linked] = /\[(specification|reference|what is known)\]/.exec(comment) ?? []
  expect(linked).toBe(evidence === 'inferred' ? 'what is known' : evidence)
})
