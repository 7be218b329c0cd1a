using System.Diagnostics;
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
        Debug.Assert(_at >= First && _at <= arguments.Count, "each argument is used once");
        var left = arguments.Span[_at..];
        int done = 0, found = 0;
        for (; done < left.Length && budget.TryTake(); done++)
            if (TUse.Use(value, left[done].Span, reply)) found++;
        _at += done;
        _found += found;
        if (done < left.Length) return false;
        TUse.Settle(value);
        return true;
    }
}
