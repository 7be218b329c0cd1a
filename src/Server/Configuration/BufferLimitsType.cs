using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace Kv.Server.Configuration;

/// <summary>Groups of four words: class, hard bytes, soft bytes, soft seconds. Classes left out keep their
/// limits.</summary>
internal sealed class BufferLimitsType : OptionType<OutputBufferLimits>
{
    public override string Expects => "normal|replica|pubsub hard-bytes soft-bytes soft-seconds, repeated";

    public override bool ManyWords => true;

    // The reference still answers with the old name of replicas, and clients that parse it know that one.
    public override string Format(OutputBufferLimits value) =>
        $"normal {Words(value.Normal)} slave {Words(value.Replica)} pubsub {Words(value.PubSub)}";

    public override IReadOnlyList<string> FileTexts(OutputBufferLimits value) =>
        [$"normal {FileWords(value.Normal)}", $"replica {FileWords(value.Replica)}",
            $"pubsub {FileWords(value.PubSub)}"];

    public override bool TryParse(
        string text, OutputBufferLimits current, out OutputBufferLimits value, out string error)
    {
        value = current;
        error = "";
        if (text.Length == 0) return true;
        string[] words = text.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        error = "Wrong number of arguments in buffer limit configuration.";
        if (words.Length % 4 != 0) return false;
        for (int i = 0; i < words.Length; i += 4)
        {
            error = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
            bool numbers = TryReadLimit(words.AsSpan(i + 1, 3), out var limit);
            switch (words[i].ToLowerInvariant())
            {
                case "normal": value = value with { Normal = limit }; break;
                case "slave" or "replica": value = value with { Replica = limit }; break;
                case "pubsub": value = value with { PubSub = limit }; break;
                default:
                    error = "Invalid client class specified in buffer limit configuration.";
                    return false;
            }

            if (!numbers) return false;
        }

        return true;
    }

    private static bool TryReadLimit(ReadOnlySpan<string> words, out OutputBufferLimit limit)
    {
        Debug.Assert(words.Length == 3, "a limit has three numbers");
        limit = default;
        if (!MemorySize.TryParse(words[0], out ulong hard) || hard > long.MaxValue) return false;
        if (!MemorySize.TryParse(words[1], out ulong soft) || soft > long.MaxValue) return false;
        if (!int.TryParse(words[2], NumberStyles.None, CultureInfo.InvariantCulture, out int seconds)) return false;
        limit = new OutputBufferLimit((long)hard, (long)soft, seconds);
        return true;
    }

    private static string Words(OutputBufferLimit limit) => string.Create(
        CultureInfo.InvariantCulture, $"{limit.HardBytes} {limit.SoftBytes} {limit.SoftSeconds}");

    private static string FileWords(OutputBufferLimit limit) => string.Create(
        CultureInfo.InvariantCulture,
        $"{MemorySize.Shorten(limit.HardBytes)} {MemorySize.Shorten(limit.SoftBytes)} {limit.SoftSeconds}");
}
