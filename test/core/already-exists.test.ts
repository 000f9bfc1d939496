import { AlreadyExistsError, ApiError, ServerError, UnprocessableError } from 'support-workspace-sdk'
import { describe, expect, test } from 'vitest'
import { json, makeClient, refusal, rejection, scripted } from '../helpers/client.ts'

const contact = { email: 'ada@example.com' }

describe('a POST for what is already there', () => {
  test.each([
    [409, 'version_mismatch', AlreadyExistsError],
    [409, 'conflict', AlreadyExistsError],
    [422, 'already_exists', AlreadyExistsError],
    [422, 'email_taken', AlreadyExistsError],
    [400, 'duplicate', AlreadyExistsError],
    [422, 'conflict', UnprocessableError],
    [422, 'mistaken', UnprocessableError],
  ])('rejects after a %i %s with its class', async (status, code, ErrorClass) => {
    const client = makeClient({ fetch: scripted(refusal(status, code)) })
    const error = await rejection(client.contacts.create(contact))
    expect(error).toMatchObject({ constructor: ErrorClass, status, code, outcome: 'refused', remedy: 'fix' })
  })

  test.each([
    ['another method', () => refusal(409, 'already_exists'), ApiError],
    ['the code of a server error', () => refusal(500, 'already_exists'), ServerError],
    ['the words of a description', () => json({ error_description: 'It already exists.' }, 422), UnprocessableError],
  ])('is not recognized by %s', async (title, response, ErrorClass) => {
    const client = makeClient({ fetch: scripted(response()), maxRetries: 0 })
    const call =
      title === 'another method' ? client.contacts.update('c', { blocked: true }) : client.contacts.create(contact)
    expect(await rejection(call)).toMatchObject({ constructor: ErrorClass })
  })
})
