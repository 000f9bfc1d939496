import type { Command } from '@commander-js/extra-typings'
import { announceProbe, describeEvidence, mergeEvidence, overlayOf, parseEvidence, probe } from '../probe/index.ts'
import { CommandError } from './errors.ts'
import { profileOption } from './options.ts'
import { readBytes, replaceFile } from './private-files.ts'
import { type Session, withSession } from './session.ts'
import type { Terminal } from './terminal.ts'

/** Adds `probe`, which finds out which guesses about the service are right. */
export function addProbe(program: Command, terminal: Terminal): void {
  program
    .command('probe')
    .description('find out with GET requests which inferred facts are true of the service')
    .addOption(profileOption)
    .option('--out <file>', 'the evidence; an OpenAPI Overlay is written beside it', 'evidence.json')
    .option('--yes', 'the owner of the token agrees to the requests')
    .option('--compare <files...>', 'send nothing, and print what these evidence files say together')
    .action(({ compare: files, out, yes, ...flags }) => {
      if (files !== undefined) return compare(files, terminal)
      return withSession(terminal, flags, (session) => probeService(session, out, yes, terminal))
    })
}

async function probeService({ origin, readToken }: Session, out: string, yes: true | undefined, terminal: Terminal) {
  terminal.say(announceProbe())
  await terminal.confirm('Send these requests?', yes)
  const { signal } = terminal.io
  const { evidence, requests, stopped } = await probe({
    baseUrl: origin.baseUrl,
    accessToken: await readToken(),
    confirmed: true,
    fetch: (url, init) => fetch(url, { ...(init as RequestInit), signal }),
  })
  // A probe takes a request that fails for an answer, and ends soon where all fail.
  signal.throwIfAborted()
  const text = JSON.stringify(evidence, null, 2)
  const overlay = overlayOf(evidence)
  // Shown before it is written: its reader can still end the command.
  await terminal.show(evidence, text)
  await replaceFile(out, `${text}\n`)
  if (overlay !== undefined) {
    await replaceFile(out.replace(/(\.json)?$/, '.overlay.json'), `${JSON.stringify(overlay, null, 2)}\n`)
  }
  for (const line of describeEvidence(evidence)) terminal.say(line)
  terminal.note(`${requests} requests were sent. The evidence is in ${out}.`, { requests, file: out })
  if (stopped !== undefined) throw new CommandError(75, stopped, 'What was found until then is in the file.')
}

async function compare(files: readonly string[], terminal: Terminal): Promise<void> {
  const texts = await Promise.all(files.map(async (file) => String(await readBytes(file))))
  const evidence = mergeEvidence(...texts.map(parseEvidence))
  await terminal.show(evidence, describeEvidence(evidence).join('\n'))
}
