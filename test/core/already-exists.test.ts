import { AlreadyExistsError, ApiError, UnprocessableError } from 'support-workspace-sdk'
import { expect, test } from 'vitest'
import { makeClient, refusal, rejection, scripted } from '../helpers/client.ts'

test.each([
  ['POST', 409, 'conflict', AlreadyExistsError],
  ['POST', 422, 'already_exists', UnprocessableError],
  ['PATCH', 409, 'already_exists', ApiError],
] as const)('a %s that is refused with %i %s rejects with its class', async (method, status, code, ErrorClass) => {
  const client = makeClient({ fetch: scripted(refusal(status, code)) })
  const error = await rejection(client.request(method, '/x'))
  expect(error).toMatchObject({ constructor: ErrorClass, status, code, outcome: 'refused', remedy: 'fix' })
})
