import { open, rm } from 'node:fs/promises'
import type { Command } from '@commander-js/extra-typings'
import { CommandError } from './errors.ts'
import { pathName, profileOption } from './options.ts'
import { askService, type Finding, largestLimit } from './probe-questions.ts'
import { pause } from './probe-requests.ts'
import { withSession } from './session.ts'
import type { Terminal } from './terminal.ts'

/** Adds `probe`, which finds out which guesses about the service are right. */
export function addProbe(program: Command, terminal: Terminal): void {
  program
    .command('probe')
    .description('find out with GET requests which inferred facts are true of the service')
    .addOption(profileOption)
    .option('--out <file>', 'also write the findings as JSON to a new file', pathName)
    .option('--yes', 'the owner of the token agrees to the requests')
    .action(({ out, yes, ...flags }) =>
      withSession(terminal, flags, async ({ origin, readToken }) => {
        terminal.say(announcement)
        await terminal.confirm('Send these requests?', yes)
        const accessToken = await readToken()
        const file = out === undefined ? undefined : await open(out, 'wx', 0o600)
        let result: Awaited<ReturnType<typeof askService>>
        try {
          result = await askService({ baseUrl: origin.baseUrl, accessToken, signal: terminal.io.signal })
          // Shown before it is written, because its reader can still end the command.
          await terminal.show(result, tableOf(result.findings))
          await file?.writeFile(`${JSON.stringify(result, null, 2)}\n`)
        } catch (thrown) {
          if (out !== undefined) await rm(out, { force: true })
          throw thrown
        } finally {
          await file?.close()
        }
        terminal.note(`${result.requests} requests were answered.`, { requests: result.requests })
        if (result.stopped !== null) throw new CommandError(75, result.stopped, 'What was found until then is shown.')
      }),
    )
}

const announcement = `The probe sends up to 40 GET requests with your token, one after the other, ${pause} ms apart, and asks for up to
${largestLimit} entries of a list. Nothing is changed. It stops at the first 429 or 5xx. The findings have names and counts, and no text, id
or value of your data.`

function tableOf(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ question }) => question.length))
  const lines = findings.map((each) => `${each.question.padEnd(width)}  ${each.answer ?? `not known: ${each.reason}`}`)
  return lines.join('\n')
}
