import type { schemas } from 'support-workspace-sdk'

const user = {
  id: 'usr_1',
  name: 'Ada',
  email: 'ada@example.com',
  instagram_handle: 'ada',
  profile_picture_url: 'https://pictures.test/ada',
}

const organization = {
  id: 'org_1',
  name: 'acme',
  display_name: 'Acme',
  domain: 'acme.test',
  created_at: '2024-01-02T03:04:05Z',
}

const conversationAssignee = {
  id: 'asg_1',
  conversation_id: 'cnv_1',
  user_id: 'usr_2',
  assignor_id: 'usr_3',
  assigned_at: 1_700_000_000,
}

/** One of each resource with every field, copied by hand from the samples of the reference. */
export const samples: Readonly<Record<keyof typeof schemas, Readonly<Record<string, unknown>>>> = {
  user,
  organization,
  conversationAssignee,
  me: {
    application: { id: 'app_1', name: 'Sync', client_id: 'app_abc123' },
    organization,
    actor: 'self',
    scopes: ['conversations:read'],
    user,
  },
  conversation: {
    id: 'cnv_1',
    inserted_at: 1_700_000_000,
    initial_message: 'The invoice is wrong.',
    is_spam: false,
    last_message: 'On it.',
    last_message_inserted_at: 1_700_000_060,
    status: 'open',
    user,
    pinned: true,
    unread_count: 2,
    summary: 'A wrong invoice',
    meta_info: { page: '/billing' },
    guest_submission: false,
    group_id: 'grp_1',
    group: { id: 'grp_1', name: 'Billing', slug: 'billing', color: '#00ff00' },
    conversation_assignee: conversationAssignee,
  },
  message: {
    id: 'msg_1',
    conversation_id: 'cnv_1',
    source: 'widget',
    is_spam: false,
    inserted_at: 1_700_000_000,
    body_html: '<p>On it.</p>',
    marked_as_solution_at: 1_700_000_060,
    user,
    meta_info: {},
    is_ai_message: false,
    reply_to: { id: 'msg_0', body_html: '<p>The invoice is wrong.</p>', user },
    attachments: [
      {
        id: 'att_1',
        presigned_url: 'https://files.test/1',
        original_filename: 'invoice.pdf',
        extension: '.pdf',
        file_size: 1234,
        resource_type: 'message',
        resource_id: 'msg_1',
      },
    ],
  },
  contact: {
    id: 'con_1',
    user,
    source: 'widget',
    blocked: false,
    starred: true,
    active: true,
    source_info: {},
    attributes: { plan: 'pro' },
    auth_type: 'email',
    inserted_at: 1_700_000_000,
    updated_at: 1_700_000_060,
    active_at: 1_700_000_120,
  },
  member: { id: 'mem_1', role: 'admin', archived: false, user },
  organizationSettings: {
    allow_guest_submission: true,
    enable_ai_assistant: false,
    bot_configuration: { tone: 1 },
    locale: 'en',
  },
  task: { id: 'tsk_1' },
  segment: { id: 'seg_1' },
}
