"""Companies' providers as ways in to an account, for the accounts, which know of no companies."""

from penstock.platform.iam import queries
from penstock.storage import Transaction


class CompanyDoors:
    async def opens(self, tx: Transaction, user_id: str) -> bool:
        return await tx.one(queries.OPENS, user_id=user_id) is not None

    async def shut(self, tx: Transaction, user_id: str) -> None:
        """No company's provider opens the account any more, and what their mappings gave goes, too."""
        await tx.run(queries.WITHDRAW_EVERYWHERE, user_id=user_id)
        await tx.run(queries.FORGET_PERSON, user_id=user_id)
