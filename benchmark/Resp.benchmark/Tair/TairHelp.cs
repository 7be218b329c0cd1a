using RespBenchmark.CommandLine;

namespace RespBenchmark.Tair;

/// <summary>What <c>--help</c> says in the grammar of Tair's tool.</summary>
internal static class TairHelp
{
    public const string Text = $$"""
        Resp.benchmark in the grammar of Tair's resp-benchmark.
          [OPTIONS] ["COMMAND"]        default: {{TairOptions.CommandDefault}}

        Server
          -h HOST (127.0.0.1)  -p PORT (6379)  -u USER  -a PASSWORD
          --tls  --cacert F  --cert F  --key F  --sni HOST  --insecure
        Load
          -c N (0)         connections in total; 0: as many as help, found by doubling
          -n N (0)         requests; 0: no limit       -s N (0)   seconds; 0: no limit
          -P N (1)         requests sent together
          --load           send exactly -n requests, sequence keys in step: every pair once when their sizes are coprime
          --cores 0-3,5    pin a client loop to each
          -v, --version  --help
        Command
          {key uniform N}  {key sequence N}  {key zipfian N}     key_0000000000 and on, of N
          {value L}        L random letters and digits           {rand N}   a number below N
          {range N W}      two arguments, W apart
        Refused: --cluster

        {{Extras.Help}}

        """;
}
