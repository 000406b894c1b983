/** The page on which a user adds credit, if the service takes payments. */
export const addCreditPath = '/billing?tab=payments'
