import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const decisions = globSync('decisions/*.md', { cwd: root }).sort()

const folders = '{src,test,proofs,scripts,examples,bench,docs,decisions,.changeset,.ci,.github}'
const exclude = (name: string) => ['node_modules', '.examples', 'artifacts'].includes(basename(name))
/** The files and folders of the repository. */
const paths = [...globSync([`${folders}/**`, '*'], { cwd: root, exclude }), '.github', '.ci'].map((path) => `/${path}`)

/** Every word of the code. This file names what does not exist. */
const words = new Set(
  paths
    .filter((path) => /\.(ts|tsx|js|mjs|json|yml)$/.test(path) && !path.endsWith('/documents.test.ts'))
    .flatMap((path) => read(path).match(/[\w$]+/g) ?? []),
)

/** The configuration and the scripts of the builds, which name the files that they make. */
const builds = ['package.json', 'tsup.config.ts', '.gitignore'].map(read).join()

const scripts = new Set(Object.keys(manifest.scripts))
const packages = new Set([manifest.name, ...Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })])

/** Names of other software that the documents tell of, and that the code does not contain. */
const foreign = new Set(['setMediaFeaturesOverride', 'async_hooks', 'AsyncLocalStorage', 'arrayBuffer'])

/** Returns what a document says exists, and does not: paths, scripts, and names that only code has. */
function missingIn(text: string): string[] {
  const withoutBlocks = text.replaceAll(/```[\s\S]*?```/g, '')
  // What was tried is gone.
  const current = withoutBlocks.replaceAll(/^\*\*Tried[\s\S]*?(?=^\*\*|^#|$(?![\s\S]))/gm, '')
  return [...current.matchAll(/`([^`]+)`/g)].flatMap(([, span]) => missingOf(span ?? ''))
}

function missingOf(span: string): string[] {
  const [, script] = /^npm run ([\w:-]+)/.exec(span) ?? []
  if (script !== undefined) return scripts.has(script) ? [] : [span]
  if (span.startsWith('npx vitest run ')) return span.split(' ').slice(3).flatMap(missingOf)
  if (/^[\w.*-]*(\/[\w.*-]+)*\/?$/.test(span) && /[\w-]\/|^[\w.-]+\.(ts|js|md|json|yml|html)$/.test(span)) {
    // What the build makes in its folder, packages, and a media type.
    if (/^(dist|application)\//.test(span) || packages.has(span.split('/')[0] ?? '')) return []
    return builds.includes(span) || paths.some((path) => asPattern(span).test(path)) ? [] : [span]
  }
  if (!/^#?[\w$]+([.#]+[\w$]+)*(\(.*\)|: .*)?$/.test(span)) return []
  const names = span.replace(/(\(|: ).*$/, '').match(/[\w$]+/g) ?? []
  return names.filter((name) => /[a-z][A-Z]|[a-z]_[a-z]/.test(name) && !words.has(name) && !foreign.has(name))
}

/** A path, or the end of one. */
function asPattern(path: string): RegExp {
  const escaped = path
    .replace(/\/$/, '')
    .replaceAll('.', '\\.')
    .replaceAll('**', '.+')
    .replaceAll(/(?<!\.)\*/g, '[^/]+')
  return new RegExp(`/${escaped}$`)
}

describe('documents', () => {
  test.each([...decisions, 'CONTRIBUTING.md', 'AGENTS.md'])('%s names only what exists', (path) => {
    expect(missingIn(read(path))).toEqual([])
  })

  test('decisions have the numbers of their titles, each once and without gaps', () => {
    const numbers = decisions.map((path) => Number(basename(path).slice(0, 4)))
    expect(numbers).toEqual(decisions.map((_, index) => index + 1))
    const titles = decisions.map((path) => Number(/^# (\d+)\. /.exec(read(path))?.[1]))
    expect(titles).toEqual(numbers)
  })

  test.each([
    ['a path', 'See `src/core/nowhere.ts`.', ['src/core/nowhere.ts']],
    ['the end of a path', 'See `nowhere.ts` and `resources/`.', ['nowhere.ts']],
    ['a pattern', '`test/**/*.slow.test.ts`, `test/**/*.none.test.ts`', ['test/**/*.none.test.ts']],
    ['a script', '`npm run lint`, `npm run nothing -- --all`', ['npm run nothing -- --all']],
    ['a path of a command', '`npx vitest run test/core test/none`', ['test/none']],
    ['a name', '`SupportWorkspace`, `classOfNothing`', ['classOfNothing']],
    ['a method', '`ConnectionStore.#lookNowhere`', ['lookNowhere']],
    ['an option', '`resumeFrom: null`, `onNothing: true`', ['onNothing']],
    ['words that are not names', '`fetch`, `Retry-After`, `{ data }`', []],
    ['what was tried', '# 1. Title\n\n**Tried.** `classOfNothing`\n\n**Decision.** `otherNothing`', ['otherNothing']],
  ])('finds %s that does not exist', (_, text, missing) => {
    expect(missingIn(text)).toEqual(missing)
  })
})
