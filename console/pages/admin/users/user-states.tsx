import { Badge, Group, Text } from '@mantine/core'
import type { User } from '../../../../client/client.ts'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { useNow } from '../../../parts/hooks/use-now.ts'

export function UserStates({ user, isOwn }: { user: User; isOwn: boolean }) {
  const { blockedUntil, isAdmin, isSuspended } = user
  const isBlocked = useIsBlocked(user)
  return (
    <Group gap={6}>
      {isSuspended && <StatusBadge status="suspended" />}
      {!isSuspended && !isBlocked && (
        <Text component="span" c="dimmed">
          Active
        </Text>
      )}
      {isBlocked && blockedUntil !== null && (
        <>
          <StatusBadge status="blocked" />
          <Text component="span" size="sm" c="dimmed">
            ends <TimeText at={blockedUntil} />
          </Text>
        </>
      )}
      {isAdmin && <RoleBadge>Admin</RoleBadge>}
      {isOwn && <RoleBadge>You</RoleBadge>}
    </Group>
  )
}

export function useIsBlocked({ blockedUntil }: User): boolean {
  return useIsAhead(blockedUntil)
}

export function useIsAhead(until: string | null): boolean {
  const now = useNow()
  return until !== null && Date.parse(until) > now
}

export function RoleBadge({ children }: { children: string }) {
  return (
    <Badge miw="max-content" variant="light" tt="none" fw={500} size="lg" fz="sm">
      {children}
    </Badge>
  )
}
