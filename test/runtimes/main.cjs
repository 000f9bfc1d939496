const errors = require('support-workspace-sdk')
const oauth = require('support-workspace-sdk/oauth')
const otel = require('support-workspace-sdk/otel')

const given = JSON.parse(process.env.GIVEN)
import('./smoke.js')
  .then(({ smoke }) => smoke({ SupportWorkspace: errors.SupportWorkspace, errors, oauth, otel, given }))
  .then((done) => console.log(done.join('\n')))
