/**
 * The fields of the service, copied by hand from its two documents, independently of `src`. For each model, those that a
 * document prints for the REST API; then, after a bar, those that only the vendor's MCP tools name. `*` is required.
 */
export const documentedFields: Readonly<Record<string, string>> = {
  // Reference, section 2: the samples of responses. An `id` is the only field that is always there.
  user: '*id name email instagram_handle profile_picture_url',
  conversation: `*id inserted_at initial_message is_spam last_message last_message_inserted_at status user pinned
    unread_count summary meta_info guest_submission group_id group conversation_assignee`,
  group: '*id name slug color',
  conversationAssignee: '*id conversation_id user_id assignor_id assigned_at',
  message: `*id conversation_id source is_spam inserted_at body_html marked_as_solution_at user meta_info is_ai_message
    reply_to attachments`,
  quotedMessage: '*id body_html user',
  attachment: '*id presigned_url original_filename extension file_size resource_type resource_id',
  contact: `*id user source blocked starred active source_info attributes auth_type inserted_at updated_at active_at`,
  member: '*id role archived user',
  organization: '*id name display_name domain created_at',
  organizationSettings: 'allow_guest_submission enable_ai_assistant bot_configuration locale',
  me: 'application organization actor scopes user',
  application: '*id name client_id',
  tokenResponse: 'access_token token_type scope',
  consentMetadata: 'client_id app actor redirect_uri scopes scope_details state eligible_organizations',
  consentApp: 'name description logo_url',
  eligibleOrganization: '*id name domain',
  consentResult: 'redirect_to',
  // Specification, section 2, and reference, section 4.
  pageMetadata: 'after before',
  error: 'error error_description',
  // Specification, section 4. Where the reference says that a parameter is optional, the specification wins.
  authorizeQuery: '*client_id *redirect_uri *scope *state *code_challenge *code_challenge_method actor',
  tokenBody: '*grant_type *code *redirect_uri *client_id *client_secret *code_verifier',
  // Reference, sections 1 and 3.2: required fields as printed, and what the MCP tools name.
  consentBody: '*client_id *redirect_uri *target_organization_id',
  createConversationBody: '*customer_email *initial_message',
  updateConversationBody: '| status is_spam pinned',
  assignConversationBody: '*user_id',
  createMessageBody: '*body_html',
  updateMessageBody: '| body_html',
  createNoteBody: '*body_html',
  createContactBody: '*email | name',
  updateContactBody: '| blocked',
  inviteMemberBody: '*email | name role',
  updateMemberBody: '| role archived',
  updateOrganizationBody: '| display_name',
  updateOrganizationSettingsBody: '| allow_guest_submission enable_ai_assistant bot_configuration locale',
  // Neither document has a field. The `id` is inferred.
  task: '| *id',
  segment: '| *id',
  createTaskBody: '|',
  updateTaskBody: '|',
  createSegmentBody: '|',
  updateSegmentBody: '|',
}
