import { loginMethods } from '../../store/access/people-types.ts'
import { z } from 'zod'
import { isoTimestamp, pageInput, pageOutput, resourceId } from '../../kernel/wire-types.ts'
import { NewPassword, TypedPassword } from './passwords.ts'

export const Email = z.email().max(254)

export const LoginOptions = z
  .object({
    providers: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        url: z
          .string()
          .describe('URL where the browser starts the login; append `?returnTo=/path` to choose the page after it'),
      }),
    ),
    canResetPassword: z.boolean().describe('Whether the service emails links for setting a new password'),
    canSignUp: z.boolean().describe('Whether visitors can create an account with an email address'),
  })
  .meta({ id: 'LoginOptions' })

export const LoginInput = z.object({
  // Not validated as an email address, so that a mistyped address gets the same response as an unknown one.
  email: z.string().trim().min(1).max(254),
  password: TypedPassword,
})

export const LoggedIn = z
  .object({
    userId: z.string(),
    email: z.string(),
    expiresAt: isoTimestamp.describe('When the login expires, even if it is used until then'),
  })
  .meta({ id: 'LoggedIn' })
export type LoggedIn = z.output<typeof LoggedIn>

export const Login = z
  .object({
    id: z.string(),
    method: z.enum(loginMethods),
    provider: z.string().nullable().describe('Id of the single sign-on provider'),
    userAgent: z.string().nullable(),
    address: z.string().nullable().describe('IP address that logged in; null if unknown'),
    createdAt: isoTimestamp,
    lastUsedAt: isoTimestamp,
    expiresAt: isoTimestamp,
    current: z.boolean().describe('Whether this request uses this login'),
  })
  .meta({ id: 'Login' })

export const ListLoginsInput = z.object(pageInput)
export const ListLoginsOutput = z.object({ logins: z.array(Login), ...pageOutput })
export const EndLoginInput = z.object({ loginId: resourceId })

export const ChangePasswordInput = z.object({ currentPassword: TypedPassword, newPassword: NewPassword })
