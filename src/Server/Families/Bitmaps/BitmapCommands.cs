using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Strings as bits.</summary>
internal static class BitmapCommands
{
    internal static readonly Command[] Table =
    [
        new("SETBIT", arity: 4, SetBit)
        {
            Usage = "key offset value",
            Summary = "Sets one bit of the string at a key, with zero bits up to there if it is shorter; answers the "
                + "bit as it was.",
            Complexity = "O(1)", Since = "2.2.0", Group = CommandGroup.Bitmap,
            Event = KeyEvent.SetBit,
            Changes = ChangeRule.None,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Member = 2, MemberIs = MemberKind.Bit,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Update)],
        },
        new("GETBIT", arity: 3, GetBit)
        {
            Usage = "key offset",
            Summary = "Returns one bit of the string at a key; bits past its end are 0.",
            Complexity = "O(1)", Since = "2.2.0", Group = CommandGroup.Bitmap,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast,
            Member = 2, MemberIs = MemberKind.Bit, Keys = [KeySpec.At(1, KeyAccess.RO | KeyAccess.Access)],
        },
        new("BITCOUNT", arity: -2, BitCount)
        {
            Usage = "key [start end [BYTE | BIT]]",
            Summary = "Counts the bits that are 1 in the string at a key, or in a part of it.",
            Complexity = "O(N) where N is the number of bytes looked at.",
            Since = "2.6.0", Group = CommandGroup.Bitmap,
            Flags = CommandFlags.ReadOnly,
            Keys = [KeySpec.At(1, KeyAccess.RO | KeyAccess.Access)],
        },
        new("BITPOS", arity: -3, BitPos)
        {
            Usage = "key bit [start [end [BYTE | BIT]]]",
            Summary = "Finds the first bit that is 0, or 1, in the string at a key or in a part of it.",
            Complexity = "O(N) where N is the number of bytes looked at.",
            Since = "2.8.7", Group = CommandGroup.Bitmap,
            Flags = CommandFlags.ReadOnly,
            Keys = [KeySpec.At(1, KeyAccess.RO | KeyAccess.Access)],
        },
        new("BITOP", arity: -4, BitOp)
        {
            Usage = "<AND | OR | XOR | NOT> destkey key [key ...]",
            Summary = "Combines strings bit by bit into another key.",
            Complexity = "O(N) where N is the length of all strings together.",
            Since = "2.6.0", Group = CommandGroup.Bitmap,
            Event = KeyEvent.Set,
            Changes = ChangeRule.Positive,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(2, KeyAccess.OW | KeyAccess.Update),
                KeySpec.Range(3, -1, 1, KeyAccess.RO | KeyAccess.Access)],
        },
        new("BITFIELD", arity: -2, BitFields)
        {
            Usage = "key [GET encoding offset | [OVERFLOW WRAP | SAT | FAIL] <SET encoding offset value | INCRBY "
                + "encoding offset increment> "
                + "[GET encoding offset | [OVERFLOW WRAP | SAT | FAIL] <SET encoding offset value | INCRBY encoding "
                    + "offset increment> ...]]",
            Summary = "Reads, writes and adds to numbers of any width inside of the string at a key.",
            Complexity = "O(1) for each subcommand.",
            Since = "3.2.0", Group = CommandGroup.Bitmap,
            Event = KeyEvent.SetBit,
            Changes = ChangeRule.None,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Update | KeyAccess.Access)
                .Unless(["SET", "INCRBY"], KeyAccess.RO | KeyAccess.Access, from: 2)],
        },
        new("BITFIELD_RO", arity: -2, BitFieldsReadOnly)
        {
            Usage = "key [GET encoding offset [GET encoding offset ...]]",
            Summary = "Reads numbers of any width inside of the string at a key.",
            Complexity = "O(1) for each subcommand.",
            Since = "6.0.0", Group = CommandGroup.Bitmap,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RO | KeyAccess.Access)],
        },
    ];

    private static ReadOnlySpan<byte> BadOffset => "ERR bit offset is not an integer or out of range"u8;

    private static void SetBit(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var set = new SetOneBit { Offset = context.Args.NextInt64(0, LastBit(ref context), BadOffset) };
        set.On = context.Args.NextInt64(0, 1, "ERR bit is not an integer or out of range"u8) == 1;
        if (!context.Args.Finish(context.Reply)) return;

        set.StaysPut = !context.MovesAtOnce && context.MayStep;
        var status = context.Store.Update(key, DataType.String, ref set);
        if (set.MustMove)
        {
            if (StringRoom.TryBegin(ref context, key, (set.Offset >> 3) + 1)) return;
            set.StaysPut = false;
            status = context.Store.Update(key, DataType.String, ref set);
        }

        if (set.HasChanged && status == StoreStatus.Ok) context.CountChanges(1);
        if (status is StoreStatus.Ok or StoreStatus.NotFound) context.Reply.WriteInteger(set.Old ? 1 : 0);
        else context.Fail(Errors.For(status));
    }

    private static void GetBit(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var read = new ReadOneBit { Offset = context.Args.NextInt64(0, LastBit(ref context), BadOffset) };
        if (!context.Args.Finish(context.Reply)) return;

        var status = context.Store.Read(key, DataType.String, ref read);
        if (context.TryBegin(status)) context.Reply.WriteInteger(status == StoreStatus.Ok && read.On ? 1 : 0);
    }

    private static void BitCount(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var scan = new BitScan(context.Store);
        if (context.Args.Remaining is 1 or > 3) context.Args.SyntaxError();       // before the numbers are looked at
        if (context.Args.Remaining > 0)
        {
            scan.First = context.Args.NextInt64();
            scan.Last = context.Args.NextInt64();
            scan.IsBits = ReadUnit(ref context);
            scan.HasEnd = true;
        }

        Run(ref context, key, scan);
    }

    private static void BitPos(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var scan = new BitScan(context.Store) { Finds = true };
        scan.Bit = context.Args.NextInt64() is var bit && bit == 1;
        if (bit is not (0 or 1)) context.Args.Fail("ERR The bit argument must be 1 or 0."u8);
        if (context.Args.Remaining > 3) context.Args.SyntaxError();
        if (context.Args.Remaining > 0) scan.First = context.Args.NextInt64();
        if (context.Args.Remaining > 0)
        {
            // What is wrong with the unit is told before what is wrong with the end.
            var last = context.Args.NextBytes();
            scan.IsBits = ReadUnit(ref context);
            if (NumberText.TryParseInt64(last, out long lastAt)) scan.Last = lastAt;
            else context.Args.Fail(Errors.NotAnInteger);
            scan.HasEnd = true;
        }

        Run(ref context, key, scan);
    }

    private static bool ReadUnit(ref CommandContext context)
    {
        if (context.Args.Remaining == 0) return false;
        if (context.Args.TryKeyword("BIT"u8)) return true;
        if (!context.Args.TryKeyword("BYTE"u8)) context.Args.SyntaxError();
        return false;
    }

    private static void Run(ref CommandContext context, in Key key, BitScan scan)
    {
        if (context.Args.Finish(context.Reply)) scan.Run(ref context, key);
    }

    /// <summary>What BITOP combines: they are held together, some milliseconds.</summary>
    private const int KeysMax = 4096;

    private static void BitOp(ref CommandContext context)
    {
        BitOperation operation = BitOperation.And;
        if (context.Args.TryKeyword("AND"u8)) operation = BitOperation.And;
        else if (context.Args.TryKeyword("OR"u8)) operation = BitOperation.Or;
        else if (context.Args.TryKeyword("XOR"u8)) operation = BitOperation.Xor;
        else if (context.Args.TryKeyword("NOT"u8)) operation = BitOperation.Not;
        else context.Args.SyntaxError();
        if (operation == BitOperation.Not && context.Args.Remaining != 2)
            context.Args.Fail("ERR BITOP NOT must be called with a single source key."u8);

        context.Args.RequireAtMost(context.Args.Remaining - 1, KeysMax, "source keys for BITOP");
        var keys = context.Store.Keys;
        keys.Clear();
        for (int i = context.Args.Position; i < context.Args.Count; i++)
            context.Args.AddKey(i, keys, context.Session.Database);
        context.Args.Skip(context.Args.Remaining);
        if (context.Args.Finish(context.Reply)) BitCombination.Run(ref context, operation, keys);
    }

    /// <summary>What BITFIELD takes: all of it happens in one turn.</summary>
    private const int FieldArgumentsMax = 65_536;

    private static void BitFields(ref CommandContext context) => BitFields(ref context, readOnly: false);

    private static void BitFieldsReadOnly(ref CommandContext context) => BitFields(ref context, readOnly: true);

    private static void BitFields(ref CommandContext context, bool readOnly)
    {
        var key = context.Args.NextKey();
        context.Args.RequireAtMost(FieldArgumentsMax, "arguments for BITFIELD");
        using var program = BitFieldProgram.Parse(ref context.Args, LastBit(ref context), BadOffset);
        if (readOnly && program.Writes) context.Args.Fail("ERR BITFIELD_RO only supports the GET subcommand"u8);
        if (context.Args.Finish(context.Reply)) program.Run(ref context, key);
    }

    /// <summary>The highest bit that a string may have.</summary>
    private static long LastBit(ref CommandContext context) => (context.Server.Limits.MaxBulkBytes * 8L) - 1;
}
