import { invitationKinds } from '../../store/access/people-types.ts'
import { z } from 'zod'
import { isoTimestamp, pageInput, pageOutput, resourceId, usd } from '../../kernel/wire-types.ts'
import { Email } from '../logins/login-schema.ts'
import { NewPassword } from '../logins/passwords.ts'

const kind = z
  .enum(invitationKinds)
  .describe('`invitation` and `sign-up` create an account, `password` sets the password of an existing one')
const token = z.string().min(1).max(200).describe('The part of the link after `#`')

export const Invitation = z
  .object({
    id: z.string(),
    kind,
    email: z.string(),
    isAdmin: z.boolean(),
    creditUsd: usd.describe('Initial credit of the new account'),
    createdAt: isoTimestamp,
    expiresAt: isoTimestamp,
    acceptedAt: isoTimestamp.nullable(),
  })
  .meta({ id: 'Invitation' })
export type Invitation = z.output<typeof Invitation>

export const CreateInvitationInput = z.object({
  email: Email,
  isAdmin: z.boolean().default(false),
  creditUsd: z
    .string()
    .regex(/^\d{1,11}(?:\.\d{1,4})?$/, 'Must be a USD amount with at most four decimals')
    .default('0'),
})

export const CreatedInvitation = Invitation.extend({
  url: z.string().describe('The link for the invited person, shown only once. It works once, for anyone who has it'),
  isMailed: z.boolean().describe('Whether the service also emails the link to the invited person'),
}).meta({ id: 'CreatedInvitation' })

export const ListInvitationsInput = z.object(pageInput)
export const ListInvitationsOutput = z.object({ invitations: z.array(Invitation), ...pageOutput })
export const RevokeInvitationInput = z.object({ invitationId: resourceId })

export const CheckInvitationInput = z.object({ token })
export const CheckedInvitation = z
  .object({ kind, email: z.string(), expiresAt: isoTimestamp })
  .meta({ id: 'CheckedInvitation' })

export const AcceptInvitationInput = z.object({ token, password: NewPassword })

export const PasswordResetInput = z.object({ email: Email })
export const SignUpInput = z.object({ email: Email })

export const PasswordLink = z
  .object({ url: z.string().describe('The link, shown only once'), expiresAt: isoTimestamp })
  .meta({ id: 'PasswordLink' })
