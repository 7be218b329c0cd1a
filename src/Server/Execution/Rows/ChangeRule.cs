using System.Buffers.Text;

namespace Kv.Server.Execution;

/// <summary>How many changes a call that did not fail has made, for save points and
/// <c>rdb_changes_since_last_save</c>: what Redis calls dirty.</summary>
/// <remarks>
/// Asked when the beginning of the reply is there. A row without a rule whose command writes makes one change a call;
/// that costs nothing, since calls are counted anyway. Where neither reply nor arguments say it, the handler does
/// (<see cref="CommandContext.CountChanges"/>): on top of the rule.
/// </remarks>
internal sealed class ChangeRule
{
    private delegate long Reading(ReadOnlySpan<byte> reply, ref CommandContext context);

    /// <summary>None: the handler says all.</summary>
    public static readonly ChangeRule None = new(static (_, ref _) => 0);

    /// <summary>The number that is replied.</summary>
    public static readonly ChangeRule Number = new(static (reply, ref _) => NumberIn(reply));

    /// <summary>One, if the number that is replied is positive.</summary>
    public static readonly ChangeRule Positive = new(static (reply, ref _) => Math.Min(NumberIn(reply), 1));

    /// <summary>One, unless the reply is null.</summary>
    public static readonly ChangeRule NotNull = new(static (reply, ref _) => IsNull(reply) ? 0 : 1);

    /// <summary>What is replied: an element, or an array, set or map of them.</summary>
    public static readonly ChangeRule Elements = new(static (reply, ref _) => CountElements(reply));

    /// <summary>The elements, each with its score, that are replied.</summary>
    public static readonly ChangeRule Scored = new(static (reply, ref context) =>
        context.Reply.Version == Protocol.RespVersion.Resp3 && context.Args.Count != 2
            ? CountElements(reply) : CountElements(reply) / 2);

    /// <summary>The elements in the second part of the reply, after the key.</summary>
    public static readonly ChangeRule SecondElements = new(static (reply, ref _) =>
        IsNull(reply) ? 0 : CountElementsAt(reply, Skip(reply, AfterLine(reply))));

    /// <summary>The elements in the second and in the third part of the reply. Of a long one that is sent in pieces the
    /// third part may come later: then it is not counted.</summary>
    public static readonly ChangeRule LaterElements = new(static (reply, ref _) =>
    {
        int second = Skip(reply, AfterLine(reply));
        return CountElementsAt(reply, second) + CountElementsAt(reply, Skip(reply, second));
    });

    /// <summary>All arguments after the key.</summary>
    public static readonly ChangeRule Arguments =
        new(static (_, ref context) => context.Args.Count - 2) { IsOfArguments = true };

    /// <summary>All arguments after the key, if the number that is replied is positive.</summary>
    public static readonly ChangeRule ArgumentsIfAny = new(static (reply, ref context) =>
        NumberIn(reply) <= 0 ? 0 : Math.Max(1, context.Args.Count - 2));

    /// <summary>Pairs of arguments, with or without a key ahead of them.</summary>
    public static readonly ChangeRule Pairs =
        new(static (_, ref context) => (context.Args.Count - 1) / 2) { IsOfArguments = true };

    /// <summary>The same, if 1 is replied.</summary>
    public static readonly ChangeRule PairsIfAny = new(static (reply, ref context) =>
        NumberIn(reply) <= 0 ? 0 : Math.Max(1, (context.Args.Count - 1) / 2));

    /// <summary>One, unless the last argument is empty.</summary>
    public static readonly ChangeRule LastArgument = new(static (_, ref context) =>
        context.Args[context.Args.Count - 1].Length == 0 ? 0 : 1) { IsOfArguments = true };

    private readonly Reading _read;

    private ChangeRule(Reading read) => _read = read;

    /// <summary>Whether the arguments say it: they are there only while the command begins, whatever it leaves to
    /// steps.</summary>
    private bool IsOfArguments { get; init; }

    /// <summary>The handler of a row, which counts by this rule.</summary>
    public CommandHandler Counting(CommandHandler handler) => (ref context) =>
    {
        context.Session.HasCountedChanges = false;
        handler(ref context);
        bool goesOn = context.Session.Steps != null;
        if (goesOn && context.IsBegunAnew) return;
        Note(ref context, IsOfArguments && goesOn);
    };

    /// <summary>Counts the changes of a call, once: when its reply has begun. After each of its steps.</summary>
    public void NoteStep(ref CommandContext context)
    {
        if (!context.Session.HasCountedChanges) Note(ref context, isKnown: false);
    }

    /// <summary>Counts the key that a STORE has deleted because nothing came of it: its reply is 0. (Where it goes on
    /// in steps, that is not counted.)</summary>
    public static void NoteEmptied(ref CommandContext context)
    {
        if (context.Reply.Output.Span[context.Reply.ReplyStart..] is [(byte)':', (byte)'0', ..])
            context.CountChanges(1);
    }

    /// <summary>Counts what a command that replies some elements has created for them.</summary>
    public static void NoteCreated(ref CommandContext context)
    {
        if (CountElements(context.Reply.Output.Span[context.Reply.ReplyStart..]) > 0) context.CountChanges(1);
    }

    private void Note(ref CommandContext context, bool isKnown)
    {
        var reply = context.Reply.Output.Span[context.Reply.ReplyStart..];
        if (reply.IsEmpty && !isKnown) return;
        context.Session.HasCountedChanges = true;
        if (reply is [(byte)'-', ..]) return;
        context.Counters.Changes += _read(reply, ref context);
    }

    private static bool IsNull(scoped ReadOnlySpan<byte> reply) => reply is [(byte)'_', ..] or [_, (byte)'-', ..];

    private static long NumberIn(scoped ReadOnlySpan<byte> reply) =>
        reply is [(byte)':', ..] ? Math.Max(0, FirstNumber(reply)) : 0;

    private static long CountElements(scoped ReadOnlySpan<byte> reply)
    {
        if (IsNull(reply)) return 0;
        return reply is [(byte)'*' or (byte)'~' or (byte)'%', ..] ? FirstNumber(reply) : 1;
    }

    private static long CountElementsAt(scoped ReadOnlySpan<byte> reply, int at) =>
        at < reply.Length ? CountElements(reply[at..]) : 0;

    private static long FirstNumber(scoped ReadOnlySpan<byte> reply) =>
        Utf8Parser.TryParse(reply[1..], out long number, out _) ? number : 0;

    private static int AfterLine(scoped ReadOnlySpan<byte> reply) => reply.IndexOf((byte)'\n') + 1;

    /// <summary>Where the value that begins at a place ends; where the reply does, if more of the value is to
    /// come.</summary>
    private static int Skip(scoped ReadOnlySpan<byte> reply, int at)
    {
        // Ends: each round passes over a line, and there may be no more.
        for (long left = 1; left > 0; left--)
        {
            var value = reply[Math.Min(at, reply.Length)..];
            int line = AfterLine(value);
            if (line == 0) return reply.Length;
            at += line;
            if (IsNull(value)) continue;
            if (value[0] == '$') at += (int)FirstNumber(value) + 2;
            else if (value[0] is (byte)'*' or (byte)'~') left += FirstNumber(value);
            else if (value[0] == '%') left += 2 * FirstNumber(value);
        }

        return Math.Min(at, reply.Length);
    }
}
