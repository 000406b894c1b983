/** Path of the invitations page with the invite dialog open. */
export const inviteHref = '/admin/invitations?dialog=invite'
