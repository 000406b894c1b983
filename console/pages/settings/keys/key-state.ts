import type { Key } from '../../../../client/client.ts'
import type { BadgeStatus } from '../../../parts/status-badge.tsx'

const soonMs = 7 * 86_400_000

export type KeyState = { hasEnded: boolean; status: BadgeStatus; label?: string }

export function keyState({ revokedAt, expiresAt, rotationDue }: Key, now: number): KeyState {
  if (revokedAt !== null) return { hasEnded: true, status: 'revoked' }
  const leftMs = expiresAt === null ? Infinity : Date.parse(expiresAt) - now
  if (leftMs <= 0) return { hasEnded: true, status: 'expired' }
  if (leftMs <= soonMs) return { hasEnded: false, status: 'warning', label: 'Expires soon' }
  if (rotationDue) return { hasEnded: false, status: 'warning', label: 'Rotation due' }
  return { hasEnded: false, status: 'active' }
}
