using System.Diagnostics;
using System.Globalization;
using System.Text;
using Kv.Server.Execution;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>DEBUG POPULATE: strings "value:0" at keys "key:0" and so on, some in each turn; a key that is there stays
/// as it is.</summary>
/// <param name="count">How many.</param>
/// <param name="prefix">Of the keys, instead of "key".</param>
/// <param name="bytes">Of each value, which is cut or filled with zeros; 0: as long as its text.</param>
internal sealed class PopulateSteps(long count, byte[] prefix, int bytes) : ICommandSteps
{
    private readonly byte[] _key = [.. prefix, (byte)':', .. new byte[20]];
    private readonly byte[] _value = new byte[Math.Max(bytes, 32)];
    private long _next;

    public bool Holds => false;

    public bool Step(ref CommandContext context)
    {
        Debug.Assert(_next <= count, "each key is added once");
        // Large values count as several, so that a step takes no longer with them.
        long end = Math.Min(count, _next + Math.Max(1, StepBudget.BytesMax / (256 + (long)bytes)));
        for (; _next < end; _next++)
        {
            var status = Add(context.Store);
            if (status == StoreStatus.Ok) continue;
            context.Fail(Errors.For(status));
            return true;
        }

        if (_next < count) return false;
        context.Reply.WriteOk();
        return true;
    }

    private StoreStatus Add(StoreSession store)
    {
        _next.TryFormat(_key.AsSpan(prefix.Length + 1), out int digits, default, CultureInfo.InvariantCulture);
        var key = store.Key(_key.AsSpan(0, prefix.Length + 1 + digits));
        if (store.Exists(key)) return StoreStatus.Ok;
        var text = Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"value:{_next}"));
        text.CopyTo(_value.AsSpan());
        return store.Set(key, _value.AsSpan(0, bytes == 0 ? text.Length : bytes));
    }
}
