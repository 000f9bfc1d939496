// Runs the benchmark: `npm run bench -- --help`. Builds the SDK and installs the SDKs to compare with first.
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { help, type Options, readOptions } from './options.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = fileURLToPath(new URL('.', import.meta.url))

const options = read()
if (options !== undefined) {
  try {
    if (options.help) console.log(help)
    else await measure(options)
  } catch (error) {
    console.error(`\nThe benchmark failed. ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
}

function read(): Options | undefined {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    console.error(
      `${(error as Error).message.split('. To specify')[0]}\nRun \`npm run bench -- --help\` for the options.`,
    )
    process.exitCode = 2
    return undefined
  }
}

async function measure(given: Options): Promise<void> {
  if (modifiedAt('node_modules/.package-lock.json') < modifiedAt('package.json')) {
    console.log('Installing the SDKs to compare with…')
    const flags = ['--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error']
    execute('npm', ['install', ...flags], folder)
  }
  console.log('Building the SDK…')
  execute(process.execPath, ['node_modules/tsup/dist/cli-default.js', '--silent'], root)
  // Imported late, because it needs the installed packages.
  const { run } = await import('./run.ts')
  await run(given)
}

/** Returns the time at which a file in `bench` was changed, or 0 if there is none. */
function modifiedAt(file: string): number {
  return statSync(`${folder}/${file}`, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function execute(program: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(program, args, { cwd, stdio: 'inherit' })
  if (status !== 0) throw new Error(`\`${program} ${args.join(' ')}\` failed.`)
}
