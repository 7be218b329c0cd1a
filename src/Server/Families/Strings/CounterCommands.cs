using System.Runtime.CompilerServices;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Strings that are numbers: the INCR family.</summary>
internal static class CounterCommands
{
    private const CommandFlags Flags = CommandFlags.Write | CommandFlags.DenyOom | CommandFlags.Fast;
    private const KeyAccess Access = KeyAccess.RW | KeyAccess.Access | KeyAccess.Update;

    internal static readonly Command[] Table =
    [
        new("INCR", arity: 2, Incr)
        {
            Usage = "key",
            Summary = "Adds one to the integer at a key; a missing key counts as 0.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.String,
            Event = KeyEvent.IncrBy,
            Flags = Flags, Keys = [KeySpec.At(1, Access)],
        },
        new("DECR", arity: 2, Decr)
        {
            Usage = "key",
            Summary = "Takes one from the integer at a key; a missing key counts as 0.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.String,
            Event = KeyEvent.IncrBy,
            Flags = Flags, Keys = [KeySpec.At(1, Access)],
        },
        new("INCRBY", arity: 3, IncrBy)
        {
            Usage = "key increment",
            Summary = "Adds a number to the integer at a key; a missing key counts as 0.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.String,
            Event = KeyEvent.IncrBy,
            Flags = Flags, Keys = [KeySpec.At(1, Access)],
        },
        new("DECRBY", arity: 3, DecrBy)
        {
            Usage = "key decrement",
            Summary = "Takes a number from the integer at a key; a missing key counts as 0.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.String,
            Event = KeyEvent.IncrBy,
            Flags = Flags, Keys = [KeySpec.At(1, Access)],
        },
        new("INCRBYFLOAT", arity: 3, IncrByFloat)
        {
            Usage = "key increment",
            Summary = "Adds a number with decimals to the one at a key; a missing key counts as 0.",
            Complexity = "O(1)", Since = "2.6.0", Group = CommandGroup.String,
            Event = KeyEvent.IncrByFloat,
            Flags = Flags, Keys = [KeySpec.At(1, Access)],
        },
    ];

    private static void Incr(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        Add(ref context, key, 1);
    }

    private static void Decr(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        Add(ref context, key, -1);
    }

    private static void IncrBy(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        Add(ref context, key, context.Args.NextInt64());
    }

    private static void DecrBy(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        long decrement = context.Args.NextInt64();
        if (decrement == long.MinValue) context.Args.Fail(Errors.DecrementOverflow);
        Add(ref context, key, unchecked(-decrement));       // long.MinValue, which has no opposite, has just failed
    }

    private static void Add(ref CommandContext context, in Key key, long increment)
    {
        if (!context.Args.Finish(context.Reply)) return;

        var add = new AddInt64 { Increment = increment };
        var status = context.Store.Update(key, DataType.String, ref add);
        if (status != StoreStatus.Ok) context.Fail(Errors.For(status));
        else if (add.IsRefused) context.Fail(add.IsInteger ? Errors.Overflow : Errors.NotAnInteger);
        else context.Reply.WriteInteger(add.Sum);
    }

    [SkipLocalsInit]
    private static void IncrByFloat(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var increment = context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;

        // The error of another type at the key comes before that of a bad increment.
        Span<byte> text = stackalloc byte[ExtendedFloat.MaxHumanBytes];
        var add = new AddFloat { Text = text };
        add.IncrementIsBad = !ExtendedFloat.TryParse(increment, out add.Increment);
        var status = context.Store.Update(key, DataType.String, ref add);
        if (status is not (StoreStatus.Ok or StoreStatus.NotFound)) context.Fail(Errors.For(status));
        else if (add.Length == 0) context.Fail(add.IsNumber ? Errors.NanOrInfinity : Errors.NotAFloat);
        else
        {
            context.Reply.WriteBulk(text[..add.Length]);
            if (context.IsFed) SaySet(ref context, key.Bytes, text[..add.Length]);
        }
    }

    private static void SaySet(ref CommandContext context, ReadOnlySpan<byte> key, scoped ReadOnlySpan<byte> text)
    {
        var effect = context.Say(4);
        effect.Add("SET"u8);
        effect.Add(key);
        effect.Add(text);
        effect.Add("KEEPTTL"u8);
        effect.End();
    }

    /// <summary>Adds to an integer, unless the sum leaves 64 bits.</summary>
    private struct AddInt64 : IValueUpdate
    {
        public long Increment;
        public long Sum;
        public bool IsInteger;
        public bool IsRefused;

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public Change Decide(in ValueView current, ref NewValue next)
        {
            long value = 0;
            IsInteger = true;
            if (current.Exists)
            {
                if (current.Kind == ValueKind.Integer) value = current.Integer;
                else IsInteger = NumberText.TryParseInt64(current.Bytes, out value);
            }

            // It overflows exactly when both numbers have the sign that the sum does not have.
            Sum = unchecked(value + Increment);
            IsRefused = !IsInteger || ((value ^ Sum) & (Increment ^ Sum)) < 0;
            if (IsRefused) return Change.None;

            next.Kind = ValueKind.Integer;
            next.Integer = Sum;
            return Change.Replace;
        }

        public readonly void Write(Span<byte> destination)
        {
        }
    }

    /// <summary>Adds to a number with decimals, unless the sum is infinite. The sum's text becomes the value.</summary>
    private ref struct AddFloat : IValueUpdate
    {
        public ExtendedFloat Increment;
        public bool IncrementIsBad;
        public Span<byte> Text;
        public int Length;
        public bool IsNumber;

        public Change Decide(in ValueView current, ref NewValue next)
        {
            Length = 0;
            var value = ExtendedFloat.FromInt64(0);
            IsNumber = !IncrementIsBad;
            if (current.Exists)
            {
                if (current.Kind == ValueKind.Integer) value = ExtendedFloat.FromInt64(current.Integer);
                else IsNumber &= ExtendedFloat.TryParse(current.Bytes, out value);
            }

            if (!IsNumber) return Change.None;
            var sum = value + Increment;
            if (!sum.IsFinite) return Change.None;

            Length = sum.FormatHuman(Text);
            next.Kind = ValueKind.String;
            next.Length = Length;
            return Change.Replace;
        }

        public readonly void Write(Span<byte> destination) => Text[..Length].CopyTo(destination);
    }
}
