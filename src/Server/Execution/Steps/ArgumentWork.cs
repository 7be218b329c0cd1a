using Kv.Storage;

namespace Kv.Server.Execution;

/// <summary>A command about one collection, and what it is to take out or to look for: all arguments after the
/// key.</summary>
internal struct ArgumentWork<TUse>(KeptArguments arguments) : IValueWork where TUse : struct, IArgumentUse
{
    private const int First = 2;

    private int _at = First;
    private long _found;

    public readonly ReplyHead Head => TUse.Changes ? ReplyHead.Number : ReplyHead.Array;

    public readonly long Count => TUse.Changes ? _found : arguments.Count - First;

    public static bool Changes => TUse.Changes;

    public static bool Owns => true;

    public readonly bool IsLong(HeldValue value) => arguments.Count > StepBudget.OneTurnMax;

    public void Keep() => arguments.Keep();

    public void Dispose() => arguments.Dispose();

    public bool Run<TReply, TBudget>(HeldValue value, TReply reply, ref TBudget budget)
        where TReply : struct, IReplyTarget where TBudget : struct, IStepBudget
    {
        for (; _at < arguments.Count; _at++)
        {
            if (!budget.TryTake()) return false;
            if (TUse.Use(value, arguments[_at], reply)) _found++;
        }

        TUse.Settle(value);
        return true;
    }
}
