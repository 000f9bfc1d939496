import type { Conversation, Message, User } from './shapes.ts'
import { answers, followUps, groups, noteTexts, questions } from './words.ts'
import type { Workspace } from './workspace.ts'

/** Adds one conversation with its messages and, now and then, a note. `at` is in epoch seconds. */
export function seedConversation(workspace: Workspace, at: number, messageCount: number): void {
  const { random } = workspace
  const members = workspace.members.all().map((member) => member.user)
  const conversation = workspace.newConversation(customerOf(workspace), random.pick(questions), at)
  dress(workspace, conversation, members, at)
  workspace.conversations.add(conversation)

  const messages = workspace.messages(conversation.id)
  for (let count = 0; count < messageCount; count += 1) {
    const fromCustomer = count % 2 === 0 || members.length === 0
    const text = count === 0 ? conversation.initial_message : random.pick(fromCustomer ? followUps : answers)
    const author = fromCustomer ? conversation.user : pickUser(workspace, members, conversation.user)
    const source = fromCustomer ? 'email' : 'dashboard'
    const message = workspace.newMessage(conversation.id, author, `<p>${text}</p>`, source, at + count * 60)
    if (count > 0) decorate(workspace, message, messages.all()[0])
    messages.add(message)
  }
  workspace.refreshLastMessage(conversation)

  if (members.length > 0 && random.chance(0.3)) {
    const author = pickUser(workspace, members, conversation.user)
    const note = workspace.newMessage(conversation.id, author, `<p>${random.pick(noteTexts)}</p>`, 'dashboard', at + 30)
    workspace.notes(conversation.id).add(note)
  }
}

function customerOf(workspace: Workspace): User {
  const contacts = workspace.contacts.all()
  const contact = contacts[workspace.random.between(0, contacts.length - 1)]
  return contact?.user ?? workspace.newUser('someone@customer.example', null)
}

function pickUser(workspace: Workspace, users: readonly User[], otherwise: User): User {
  return users[workspace.random.between(0, users.length - 1)] ?? otherwise
}

function dress(workspace: Workspace, conversation: Conversation, members: readonly User[], at: number): void {
  const { random } = workspace
  // The literal spellings of the statuses are not documented; these are hints of the reference, section 5.7.
  conversation.status = random.pick(['open', 'open', 'open', 'waiting', 'closed', 'resolved'])
  conversation.pinned = random.chance(0.05)
  conversation.is_spam = random.chance(0.03)
  conversation.unread_count = random.chance(0.4) ? random.between(1, 4) : 0
  conversation.guest_submission = random.chance(0.2)
  if (random.chance(0.2)) conversation.summary = 'The customer asks for help with an account.'
  if (random.chance(0.5)) {
    const group = { ...random.pick(groups) }
    conversation.group = group
    conversation.group_id = group.id
  }
  const assignee = members[random.between(0, members.length - 1)]
  if (assignee !== undefined && random.chance(0.5)) {
    conversation.conversation_assignee = {
      id: random.id('asg'),
      conversation_id: conversation.id,
      user_id: assignee.id,
      assignor_id: random.chance(0.5) ? assignee.id : null,
      assigned_at: at + 90,
    }
  }
}

function decorate(workspace: Workspace, message: Message, previous: Message | undefined): void {
  const { random } = workspace
  if (previous !== undefined && random.chance(0.2)) {
    message.reply_to = { id: previous.id, body_html: previous.body_html, user: previous.user }
  }
  if (random.chance(0.1)) {
    message.attachments.push({
      id: random.id('att'),
      presigned_url: `https://files.example/${message.id}/screenshot.png`,
      original_filename: 'screenshot.png',
      extension: 'png',
      file_size: random.between(10_000, 900_000),
      resource_type: 'message',
      resource_id: message.id,
    })
  }
}
