import type { AuditAct } from '../../../../client/client.ts'

export const actionNames: Readonly<Record<AuditAct['action'], string>> = {
  'login.created': 'Logged in',
  'login.failed': 'Login failed',
  'login.ended': 'Login ended',
  'password.changed': 'Password changed',
  'identity.linked': 'Single sign-on linked',
  'user.created': 'User created',
  'user.updated': 'User updated',
  'user.unblocked': 'User unblocked',
  'user.erased': 'User erased',
  'user.exported': 'User exported',
  'limits.changed': 'Limits changed',
  'balance.changed': 'Credit changed',
  'key.created': 'Key created',
  'key.updated': 'Key updated',
  'key.rotated': 'Key rotated',
  'key.revoked': 'Key revoked',
  'platform_key.created': 'Platform key created',
  'platform_key.revoked': 'Platform key revoked',
  'invitation.created': 'Invitation created',
  'invitation.revoked': 'Invitation revoked',
  'invitation.accepted': 'Invitation accepted',
}

export const actorNames: Readonly<Record<AuditAct['actor'], string>> = {
  user: 'User',
  key: 'API key',
  platformKey: 'Platform key',
  clientToken: 'Client token',
  commandLine: 'Command line',
  visitor: 'Visitor',
  service: 'Service',
}
