using System.Text;
using Kv.Server.Configuration;
using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>LOLWUT: rings from two stones in a pond, as brightness by letter.</summary>
internal static class LolwutDrawing
{
    public static void Run(ref CommandContext context)
    {
        const int Columns = 64, Rows = 16;
        if (context.Args.Remaining >= 2 && context.Args.TryKeyword("VERSION"u8)) context.Args.NextInt64();
        context.Args.Skip(context.Args.Remaining);      // sizes that other versions' drawings take
        if (!context.Args.Finish(context.Reply)) return;

        ReadOnlySpan<char> shades = " .:-=+*#%@";
        var text = new StringBuilder((Columns + 1) * Rows + 64);
        for (int row = 0; row < Rows; row++)
        {
            for (int column = 0; column < Columns; column++)
            {
                // A row is as high as two columns are wide.
                double left = Math.Sqrt(Square(column - 16) + 4 * Square(row - 8));
                double right = Math.Sqrt(Square(column - 48) + 4 * Square(row - 5));
                double height = (Math.Sin(left * 0.9) + Math.Sin(right * 0.9) + 2) / 4;
                text.Append(shades[Math.Min((int)(height * shades.Length), shades.Length - 1)]);
            }
            text.Append('\n');
        }
        text.Append("\nTwo stones, one pond. Redis ver. ").Append(ServerVersion.RedisVersion).Append('\n');
        context.Reply.WriteVerbatim(Encoding.ASCII.GetBytes(text.ToString()));
    }

    private static double Square(double x) => x * x;
}
