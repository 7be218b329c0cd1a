using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Sessions;

namespace Kv.Server.Families;

/// <summary>What a SORT asks for: its arguments, copied, and what they say.</summary>
internal sealed unsafe class SortRequest : IDisposable
{
    private readonly HeldCommand _command;

    private SortRequest(HeldCommand command) => _command = command;

    /// <summary>What to sort by; without one, the elements.</summary>
    public SortPattern By { get; private set; }

    public bool HasBy { get; private set; }

    /// <summary>BY a pattern without a star: the order in which they are.</summary>
    public bool IsUnsorted { get; set; }

    /// <summary>By bytes, not by numbers.</summary>
    public bool IsAlphabetic { get; set; }

    public bool IsDescending { get; private set; }

    /// <summary>What is answered for each element; none: the element.</summary>
    public SortPattern[] Gets { get; private set; } = [];

    /// <summary>Elements to pass over, and how many to take (-1: all): as given.</summary>
    public long Offset { get; private set; }

    public long Limit { get; private set; } = -1;

    /// <summary>Index of the argument where the result goes; 0: to the client.</summary>
    public int StoreAt { get; private set; }

    /// <summary>A key among the arguments.</summary>
    public Argument this[int index] => _command.Items[index];

    /// <summary>Forgets BY.</summary>
    public void SortByElement() => HasBy = IsUnsorted = false;

    /// <summary>Reads the arguments.</summary>
    /// <returns>Null when one is bad; that is answered.</returns>
    public static SortRequest? TryRead(ref CommandContext context, bool stores)
    {
        var request = new SortRequest(context.Args.Keep(context.Server.Store));
        request.ReadOptions(ref context, stores);
        if (context.Args.Finish(context.Reply)) return request;
        request.Dispose();
        return null;
    }

    /// <summary>Which of <paramref name="count"/> sorted elements LIMIT asks for.</summary>
    public void PlacesOf(int count, out int from, out int to)
    {
        from = (int)Math.Min(Math.Max(Offset, 0), count);
        to = Limit < 0 ? count : (int)Math.Min(count, from + Math.Min(Limit, count));
        Debug.Assert(from >= 0 && from <= to && to <= count, "a range is resolved within the length");
    }

    public void Dispose() => _command.Dispose();

    private void ReadOptions(ref CommandContext context, bool stores)
    {
        ref var args = ref context.Args;
        args.Skip(1);
        List<SortPattern>? gets = null;
        // Which keys the patterns lead to nobody knows before.
        bool readsAll = context.Session.Restriction is not { } rules
            || rules.ReadsAnyKeyBy(context.Command, context.Args);
        while (args.Remaining > 0)
        {
            bool hasOne = args.Remaining > 1;
            if (args.TryKeyword("ASC"u8)) IsDescending = false;
            else if (args.TryKeyword("DESC"u8)) IsDescending = true;
            else if (args.TryKeyword("ALPHA"u8)) IsAlphabetic = true;
            else if (args.Remaining > 2 && args.TryKeyword("LIMIT"u8))
            {
                Offset = args.NextInt64();
                Limit = args.NextInt64();
            }
            else if (stores && hasOne && args.TryKeyword("STORE"u8))
            {
                StoreAt = args.Position;
                args.Skip(1);
            }
            else if (hasOne && args.TryKeyword("BY"u8))
            {
                By = new SortPattern(_command.Items[args.Position]);
                HasBy = true;
                IsUnsorted |= !By.HasStar;
                if (By.HasStar && !readsAll)
                    args.Fail("ERR BY option of SORT denied due to insufficient ACL permissions."u8);
                args.Skip(1);
            }
            else if (hasOne && args.TryKeyword("GET"u8))
            {
                (gets ??= []).Add(new SortPattern(_command.Items[args.Position]));
                if (!readsAll) args.Fail("ERR GET option of SORT denied due to insufficient ACL permissions."u8);
                args.Skip(1);
            }
            else args.SyntaxError();
        }

        if (gets != null) Gets = [.. gets];
    }
}
