// Links the names of exports and options in the guides to the reference.
import { type CommentDisplayPart, type ProjectReflection, type Reflection, ReflectionKind } from 'typedoc'

/** The options whose names the guides use without the name of their type. The first type that has the name is meant. */
const optionTypes = [
  'ClientOptions',
  'ListOptions',
  'CallOptions',
  'ConnectionStoreOptions',
  'LoginHandlersOptions',
  'OAuthAppOptions',
  'AdaptiveRateLimiterOptions',
]

/** Names that are also used for something else: fields of models, and parameters of HTTP and of OAuth. */
const ambiguous = new Set([
  'actor',
  'client',
  'direction',
  'headers',
  'prefix',
  'scope',
  'scopes',
  'secret',
  'signal',
  'storage',
])

/** Guides about the options of one type, where each of its names means the option. */
const ownOptions: Readonly<Record<string, string>> = {
  'docs/client-options.md': 'ClientOptions',
  'docs/sandbox.md': 'SandboxOptions',
}

/** @param sources the source of each guide, from the root of the project */
export function linkNames(project: ProjectReflection, sources: ReadonlyMap<Reflection, string>): void {
  const exported = project.children?.flatMap(({ children = [] }) => children) ?? []
  const optionsOf = (type: string | undefined) =>
    exported.find(({ name, kind }) => name === type && kind === ReflectionKind.Interface)?.children ?? []
  const options = optionTypes.flatMap(optionsOf).filter(({ name }) => !ambiguous.has(name))
  const targets = targetsOf([...exported, ...options])
  for (const document of project.documents ?? []) {
    const own = optionsOf(ownOptions[sources.get(document) ?? ''])
    document.content = withLinks(document.content, targetsOf([...own, ...exported, ...options]))
  }
  if (project.readme !== undefined) project.readme = withLinks(project.readme, targets)
}

/** Returns reflections by name, of each name the first. */
function targetsOf(reflections: readonly Reflection[]): Map<string, Reflection> {
  return new Map(reflections.toReversed().map((reflection) => [reflection.name, reflection]))
}

/** Links each name in code, unless it is within a link already. */
function withLinks(
  parts: readonly CommentDisplayPart[],
  targets: ReadonlyMap<string, Reflection>,
): CommentDisplayPart[] {
  let open = 0
  return parts.map((part) => {
    if (part.kind === 'text') open = Math.max(0, open + count(part.text, '[') - count(part.text, ']'))
    const [, name = ''] = (part.kind === 'code' && /^`(?:new )?([A-Za-z]\w+)(?:\(\))?`$/.exec(part.text)) || []
    const target = targets.get(name)
    return target === undefined || open > 0 ? part : { kind: 'inline-tag', tag: '@link', text: part.text, target }
  })
}

function count(text: string, character: string): number {
  return text.split(character).length - 1
}
