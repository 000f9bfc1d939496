import type { Scenario } from './explore.ts'
import { approve, colleague, customer, edited, forget, forgetOld, passTime, propose, reject, send } from './world.ts'

const expires = { expiresIn: 30_000 }

/** Everything that can happen beside a sender, and pairs of what people do. */
export const scenarios: readonly Scenario[] = [
  { title: 'two senders', actors: [[send], [send]], kills: true },
  { title: 'a message of the customer', actors: [[send], [customer]], kills: true },
  { title: 'an answer of a colleague', actors: [[send], [colleague]] },
  { title: 'a rejection', actors: [[send], [reject]], kills: true },
  { title: 'an approval of the same by another person', actors: [[send], [approve(undefined, 'cleo')]] },
  { title: 'an edit after the approval', actors: [[send], [approve(edited)]] },
  { title: 'an expiry', first: [propose(undefined, expires), approve()], actors: [[send], [passTime]] },
  { title: 'a token of another person', actors: [[send], [send]], tokens: ['tom_token'] },
  { title: 'a replacement', actors: [[send], [propose(edited, { replace: true })]] },
  { title: 'beginning anew', actors: [[send], [propose(edited, { again: true }), approve()]] },
  { title: 'a rejection, and beginning anew', actors: [[send], [reject, propose(edited, { again: true }), approve()]] },
  { title: 'erasing', first: [propose()], actors: [[approve(), send], [forget]] },
  { title: 'forgetting', actors: [[send], [forgetOld, propose(), approve(), send]] },
  {
    title: 'an approval and a replacement',
    first: [propose()],
    actors: [[approve()], [propose(edited, { replace: true })]],
  },
  { title: 'an approval and a rejection', first: [propose()], actors: [[approve(), send], [reject]] },
  {
    title: 'an approval and an edit',
    first: [propose()],
    actors: [[approve()], [approve(edited, 'cleo')]],
    kills: true,
  },
  {
    title: 'two proposals',
    first: [],
    actors: [
      [propose(), approve(), send],
      [propose(edited), approve(), send],
    ],
  },
  { title: 'a lost response', actors: [[send], [send]], faults: ['lost'] },
  { title: 'a lost response and a message', actors: [[send], [customer]], faults: ['lost'] },
  { title: 'a lost request', actors: [[send], [send]], faults: ['lost before'] },
  { title: 'a 429 and a message', actors: [[send], [customer]], faults: ['limited'] },
  { title: 'a 429 and a second sender', actors: [[send], [customer, send]], faults: ['limited'] },
  { title: 'a 429 and a rejection', actors: [[send], [reject]], faults: ['limited'] },
  { title: 'a refusal and a second sender', actors: [[send], [send]], faults: ['refused'] },
]
