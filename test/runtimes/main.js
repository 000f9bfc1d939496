import * as errors from 'support-workspace-sdk'
import * as oauth from 'support-workspace-sdk/oauth'
import * as otel from 'support-workspace-sdk/otel'
import { smoke } from './smoke.js'

const given = JSON.parse(process.env.GIVEN)
console.log((await smoke({ SupportWorkspace: errors.SupportWorkspace, errors, oauth, otel, given })).join('\n'))
